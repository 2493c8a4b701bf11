/** Everybody's mind in a round, the fastest first, and the race for the floor. */

import type { ComponentChildren } from "preact";
import { Check } from "../../components/check";
import { Prose, Term } from "../../components/explained";
import { Notice, WithDocument } from "../../components/parts";
import { Speaker } from "../../components/speakers";
import type { Run } from "../../documents";
import { inWords, number } from "../../format";
import { hrefOf } from "../../router";
import { useDocument } from "../../use_document";
import { runPath } from "../conversation/documents";
import { type Floor, type Mind, type MindParameters, mindParameters, type Opening, type PlanStep, type Thought, type TurnOfMeeting } from "./documents";
import { floorInWords, latencyInWords, perceptionInWords, outcomeInWords } from "./phrases";
import { Race } from "./race";
import { WillingnessBar } from "./willingness";

export function RoundMinds({ run, turn }: { run: Run; turn: number }) {
  const document = useDocument<TurnOfMeeting>(runPath(run.run, "turns", turn));
  const opening = useDocument<Opening>(run.kind === "group_chat" ? runPath(run.run, "opening") : null);
  const parameters = mindParameters(run.parameters);
  const plans = new Map(opening.state === "ready" ? opening.value.characters.map(({ agent, plan }) => [agent, plan]) : []);
  return (
    <WithDocument of={document}>
      {({ cognition, thoughts, floor }) => {
        if (!cognition) {
          return <Notice><p>Only a meeting has <Term of="mind">minds</Term>: in this run the model is asked only for utterances.</p></Notice>;
        }
        const minds = fastestFirst(cognition);
        const winner = minds.find((mind) => mind.won);
        return (
          <div class="stack minds">
            <section class="stack" aria-label="The floor">
              <h3><Term of="floor">The floor</Term></h3>
              <p class="small data"><Prose text={floorInWords(floor, minds, parameters)} /></p>
              <Race minds={minds} people={run.people} parameters={parameters} looks={floor?.looks ?? 1} />
              <Others minds={minds} floor={floor} run={run} parameters={parameters} />
            </section>
            <div class="mind-cards">
              {minds.map((mind) => (
                <MindOf key={`${turn} ${mind.agent}`} run={run} turn={turn} mind={mind} thought={thoughts?.[mind.agent]} winner={winner} floor={floor} parameters={parameters} plan={plans.get(mind.agent) ?? []} />
              ))}
            </div>
          </div>
        );
      }}
    </WithDocument>
  );
}

/** Return minds by their latencies; who did not race comes last. */
function fastestFirst(minds: readonly Mind[]): readonly Mind[] {
  return [...minds].sort((a, b) => Number(b.won ?? 0) - Number(a.won ?? 0) || (a.latency_s ?? Infinity) - (b.latency_s ?? Infinity) || 0);
}

/** Who did not race, and why. */
function Others({ minds, floor, run, parameters }: Pick<MindProps, "floor" | "run" | "parameters"> & { minds: readonly Mind[] }) {
  const others = minds.filter((mind) => mind.latency_s === null && !mind.won);
  if (!others.length) return null;
  return (
    <ul class="others small">
      {others.map((mind) => (
        <li key={mind.agent}><Speaker people={run.people} name={mind.agent} /> {outcomeInWords(mind, undefined, parameters, floor)}</li>
      ))}
    </ul>
  );
}

interface MindProps {
  readonly run: Run;
  readonly turn: number;
  readonly mind: Mind;
  readonly thought: Thought | undefined;
  readonly winner: Mind | undefined;
  readonly floor: Floor | null | undefined;
  readonly parameters: MindParameters;
  readonly plan: readonly PlanStep[];
}

function MindOf({ run, turn, mind, thought, winner, floor, parameters, plan }: MindProps) {
  const latency = latencyInWords(mind, parameters);
  const outcome = outcomeInWords(mind, winner, parameters, floor);
  return (
    <section class={`card mind stack ${mind.won ? "won" : ""}`} aria-label={mind.agent}>
      <div class="row">
        <h3><Speaker people={run.people} name={mind.agent} /></h3>
        <span class={`tag ${mind.won ? "live" : ""}`}>{mind.won ? "→ " : ""}{outcome}</span>
        <a class="small" href={hrefOf(["runs", run.run, "minds"], { agent: mind.agent })}>whole run</a>
      </div>
      {mind.typed !== null && <p><span class="muted small">a person typed</span> <span class="words data">{mind.typed || "nothing"}</span></p>}
      {mind.thought !== null && (
        <p>
          <span class="muted small">thought</span> <span class="words data thought">{mind.thought || "–"}</span>{" "}
          <span class="small muted data">feels {mind.emotion}, {number(mind.emotion_strength, 1)}</span>
        </p>
      )}
      {thought?.in_words && <p class="small data"><span class="muted">the thought</span> {thought.in_words}</p>}
      {mind.thought && (
        <Check run={run} turn={turn} leanedOn={thought?.leaned_on ?? null} part={mind.agent} what="the thought" label="Read the thought" offersUnread />
      )}
      <WillingnessBar mind={mind} parameters={parameters} />
      {mind.bid_reasons?.in_words && <p class="small data"><span class="muted">the <Term of="bid" /></span> {mind.bid_reasons.in_words}</p>}
      {latency && <p class="small"><span class="muted"><Term of="latency" /></span> <span class="number">{number(mind.latency_s)} s</span>: <Prose text={latency} /></p>}
      <p class="small data"><Prose text={perceptionInWords(mind, parameters)} /></p>
      <Mechanisms mind={mind} />
      <Plan done={mind.plan_done} plan={plan} />
      <Reasoning mind={mind} />
    </section>
  );
}

/** The mechanisms that were on, with their reasons and what they found, then those that were off. */
function Mechanisms({ mind }: { mind: Mind }) {
  const entries = Object.entries(mind.mechanisms);
  if (!entries.length) return null;
  const off = entries.filter(([, choice]) => !choice.active);
  return (
    <div class="mechanisms small">
      {entries.filter(([, choice]) => choice.active).map(([name, { reason }]) => (
        <div key={name}>
          <p><span class="switch on">● on</span> <b>{inWords(name)}</b> <span class="data muted">{reason || "–"}</span></p>
          <ul>
            {mind.findings[name]?.lines.map((line, index) => <li key={index} class="data">{line}</li>)}
            {mind.findings[name]?.problem && <li class="bad data">went without: {mind.findings[name]!.problem}</li>}
          </ul>
        </div>
      ))}
      {off.length > 0 && (
        <details>
          <summary><span class="switch off">○ off</span> {off.map(([name]) => inWords(name)).join(", ")}</summary>
          <ul>{off.map(([name, { reason }]) => <li key={name}><b>{inWords(name)}</b> <span class="data muted">{reason || "–"}</span></li>)}</ul>
        </details>
      )}
    </div>
  );
}

function Plan({ done, plan }: { done: readonly boolean[] | null; plan: readonly PlanStep[] }) {
  if (!done?.length || !plan.length) return null;
  return (
    <ul class="plan small" aria-label="Plan">
      {plan.map((step, index) => (
        <li key={index}><span class="muted">{done[index] ? "✓ done" : "○ open"}</span> <span class="data">{step.text}</span></li>
      ))}
    </ul>
  );
}

/** What the agent made of the situation before they thought. */
function Reasoning({ mind }: { mind: Mind }) {
  const told: [string, string | null][] = [
    ["situation", mind.situation],
    ["before", mind.situation_summary],
    ["what matters", mind.key_information],
    ["character", mind.character_analysis],
    ["why these mechanisms", mind.decision_reason],
  ];
  const given = told.filter((entry): entry is [string, string] => !!entry[1]);
  if (!given.length) return null;
  const rows: ComponentChildren = given.map(([name, text]) => <div key={name}><dt>{name}</dt><dd class="data">{text}</dd></div>);
  return <details class="small"><summary>How they saw the situation</summary><dl class="reasoning">{rows}</dl></details>;
}

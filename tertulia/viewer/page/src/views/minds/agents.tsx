/** One agent through a whole meeting: willingness against its threshold, mechanisms, emotion, thoughts, and how they came to it. */

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Notice, WithDocument } from "../../components/parts";
import { Speaker } from "../../components/speakers";
import { useVirtualRows } from "../../components/virtual";
import { besides, counted, inWords, isolated, number, percent } from "../../format";
import { type RunProgress, versionOf } from "../../live";
import { hrefOf, usePlace } from "../../router";
import { useDocument } from "../../use_document";
import { type RunInFull, runPath } from "../conversation/documents";
import { AgentChart } from "./chart";
import type { AgentInRun, Opening, RoundInShort } from "./documents";

export function AgentsView({ run, live }: { run: RunInFull; live: RunProgress | null }) {
  const { query } = usePlace();
  const agent = run.people.find((name) => name === query.agent) ?? run.people[0]!;
  const document = useDocument<AgentInRun>(runPath(run.run, "agents", agent), versionOf(run, live));
  const opening = useDocument<Opening>(runPath(run.run, "opening"));
  if (run.kind !== "group_chat") {
    return <Notice title="This run has no minds"><p>Only agents of a meeting think before they speak.</p></Notice>;
  }
  const stay = run.stays.find((stay) => stay.agent === agent);
  return (
    <div class="agents">
      <nav class="agent-names" aria-label="Whose mind is shown">
        {run.people.map((name) => (
          <a key={name} href={hrefOf(["runs", run.run, "minds"], { agent: name })} aria-current={name === agent ? "page" : undefined}>
            <Speaker people={run.people} name={name} />
          </a>
        ))}
      </nav>
      <div class="agent">
        <div class="stack">
        <h2><Speaker people={run.people} name={agent} /></h2>
        <WithDocument of={opening}>{(opening) => <Came opening={opening} agent={agent} />}</WithDocument>
        {stay && <p class="small muted">{cameAndLeft(stay.joins_s, stay.leaves_s, stay.leaves_for)}</p>}
        </div>
        <div class="stack">
        <WithDocument of={document}>
          {(document) =>
            document.cognition.length ? (
              <>
                <p class="small muted">{summary(document)}</p>
                <AgentChart run={run} document={document} />
                <Rounds key={agent} run={run} document={document} />
              </>
            ) : (
              <Notice><p><bdi class="data">{agent}</bdi> took part in no stored round.</p></Notice>
            )
          }
        </WithDocument>
        </div>
      </div>
    </div>
  );
}

function cameAndLeft(joins: number | null, leaves: number | null, why: string | null): string {
  const parts = [
    joins ? `came ${Math.round(joins / 60)} minutes after the start` : "",
    leaves !== null ? `had to leave ${Math.round(leaves / 60)} minutes after the start${why ? ` (${isolated(why)})` : ""}` : "",
  ];
  return parts.filter(Boolean).join(", ");
}

function summary({ cognition }: AgentInRun): string {
  const won = cognition.filter((round) => round.won).length;
  const willing = cognition.filter((round) => round.willing).length;
  return `${counted(cognition.length, "round")}: willing to speak in ${willing}, got the floor in ${won}.`;
}

/** Somebody as they came to the meeting. */
function Came({ opening, agent }: { opening: Opening; agent: string }) {
  const person = opening.people.find((person) => person.agent === agent);
  const character = opening.characters.find((character) => character.agent === agent);
  const facts: [string, ComponentChildren][] = [
    ["traits", character?.big_five.join(", ") || person?.traits],
    ["background", person?.background],
    ["in this meeting", person?.setting],
    ["interests", person?.interests.join(", ")],
    ["relations", person?.relations.length ? person.relations.map(({ agent, relation }) => <p key={agent} class="data">{agent}: {relation}</p>) : null],
    ["model", person?.model],
  ];
  return (
    <div class="came small">
      <dl class="reasoning">
        {facts.map(([name, text]) => text && <div key={name}><dt>{name}</dt><dd class="data">{text}</dd></div>)}
        {person && person.goals.length > 0 && (
          <div>
            <dt>goals</dt>
            <dd>
              {person.goals.map((goal, index) => <p key={index} class="data">{goal}</p>)}
              {character && character.plan.length > 0 && (
                <ul>{character.plan.map((step, index) => <li key={index}><span class="data">{step.text}</span> <span class="muted number">{percent(step.share)}</span></li>)}</ul>
              )}
            </dd>
          </div>
        )}
      </dl>
      {character && character.descriptions.length > 0 && (
        <details>
          <summary>Descriptions in the prompt</summary>
          {character.descriptions.map((text, index) => <p key={index} class="data">{text}</p>)}
        </details>
      )}
    </div>
  );
}

/** The rounds of an agent as a list, of which only what is in view is drawn. */
function Rounds({ run, document }: { run: RunInFull; document: AgentInRun }) {
  const scroller = useRef<HTMLDivElement>(null);
  const { cognition } = document;
  const words = new Map(document.turns.map(({ turn, text }) => [turn, text]));
  const rows = useVirtualRows({
    count: cognition.length,
    element: () => scroller.current,
    estimate: (index) => (cognition[index]!.won ? 96 : 62),
    keyOf: (index) => cognition[index]!.round,
  });
  return (
    <section class="stack" aria-label="Round by round">
      <h3>Round by round</h3>
      <div class="scroller rounds" ref={scroller} tabIndex={0} role="group" aria-label="Rounds">
        <ol style={{ height: `${rows.getTotalSize()}px` }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const round = cognition[index];
            return round && (
              <li key={round.round} ref={rows.measureElement} data-index={index} aria-setsize={cognition.length} aria-posinset={index + 1} style={{ transform: `translateY(${start}px)` }}>
                <RoundRow run={run} round={round} words={words.get(round.round)} threshold={document.threshold} />
              </li>
            );
          })}
        </ol>
      </div>
    </section>
  );
}

function RoundRow({ run, round, words, threshold }: { run: RunInFull; round: RoundInShort; words: string | undefined; threshold: number }) {
  const sign = round.willing ? "≥" : "<";
  return (
    <>
      <p class="small">
        <a href={hrefOf(["runs", run.run], { turn: round.round, pane: "minds" })}>turn {round.round}</a>{" "}
        <span class="number">{round.willingness === null ? "" : `willingness ${besides(round.willingness, threshold)} ${sign} threshold ${threshold}`}</span>{" "}
        {round.won ? <span class="tag live">→ got the floor</span> : round.latency_s !== null ? <span class="muted"> raced: {number(round.latency_s)} s</span> : null}
        {round.emotion && <span class="muted"> · {round.emotion}, {number(round.emotion_strength, 1)}</span>}
        {!round.noticed && <span class="muted"> · did not notice what was said</span>}
        {round.mechanisms && round.mechanisms.length > 0 && <span class="muted"> · {round.mechanisms.map(inWords).join(", ")}</span>}
      </p>
      {round.typed !== null && <p class="words data">typed: {round.typed || "nothing"}</p>}
      {round.thought !== null && <p class="words data thought">{round.thought || "–"}</p>}
      {words !== undefined && <p class="words data">{words}</p>}
    </>
  );
}

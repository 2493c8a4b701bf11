/** The state before and after each node of a turn, in the order in which they were executed. */

import { useMemo } from "preact/hooks";
import { Term } from "../../components/explained";
import { WithDocument } from "../../components/parts";
import type { Run } from "../../documents";
import { inWords } from "../../format";
import { goWith, usePlace } from "../../router";
import { useDocument } from "../../use_document";
import type { Visit } from "../turn_documents";
import { LongText } from "./long_text";

const AGENTS_AT_ONCE = 12;

export function StatesPane({ run, turn }: { run: Run; turn: number }) {
  const loaded = useDocument<{ visits: readonly Visit[] }>(`runs/${encodeURIComponent(run.run)}/turns/${turn}/states`);
  return <WithDocument of={loaded}>{({ visits }) => <Visits visits={visits} />}</WithDocument>;
}

function Visits({ visits }: { visits: readonly Visit[] }) {
  const { query } = usePlace();
  const chosen = Math.min(Math.max(1, Math.floor(Number(query.node)) || firstOfInterest(visits)), visits.length);
  const visit = visits[chosen - 1];
  return (
    <>
      <h3><Term of="node">Nodes</Term> that were executed</h3>
      <p class="small muted">In order of execution. Choose a node to see the state before and after it.</p>
      <Strip visits={visits} chosen={chosen} />
      {visit && <State visit={visit} place={chosen} isAll={query.keys === "all"} />}
    </>
  );
}

/** Return the place, from 1, of what most readers look for: what λ removed; without that the first. */
function firstOfInterest(visits: readonly Visit[]): number {
  return Math.max(1, visits.findIndex((visit) => visit.node === "prune") + 1);
}

interface Step {
  readonly visit: Visit;
  /** Its place in the turn, from 1. */
  readonly place: number;
}

/** Steps that follow each other and are of the same agent; of nobody where they are the whole conversation's. */
interface Group {
  readonly agent: string;
  readonly steps: readonly Step[];
}

/** The steps as buttons, those of an agent on a line. */
function Strip({ visits, chosen }: { visits: readonly Visit[]; chosen: number }) {
  const groups = useMemo(() => {
    const groups: { agent: string; steps: Step[] }[] = [];
    for (const [place, visit] of visits.entries()) {
      let group = groups.at(-1);
      if (group?.agent !== visit.agent) groups.push((group = { agent: visit.agent, steps: [] }));
      group.steps.push({ visit, place: place + 1 });
    }
    return groups;
  }, [visits]);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const button = event.target as HTMLElement;
    if (!step || button.tagName !== "BUTTON") return;
    const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll("button")];
    const next = buttons[buttons.indexOf(button as HTMLButtonElement) + step];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation(); // the page's own arrows go from turn to turn
    next.focus();
    next.click();
  };
  const minds = groups.filter((group) => group.agent);
  // A crowd would stand between the reader and what the whole conversation did.
  const isCrowd = minds.length > AGENTS_AT_ONCE;
  const first = groups.findIndex((group) => group.agent);
  return (
    <div class="steps" role="group" aria-label="Nodes of the turn" onKeyDown={move}>
      {groups.map((group, place) => {
        if (!isCrowd || !group.agent) return <Steps key={place} group={group} chosen={chosen} />;
        if (place !== first) return null;
        const isOpen = minds.some(({ steps }) => steps.some(({ place }) => place === chosen));
        return (
          <details key={place} open={isOpen}>
            <summary class="small">Cognition of {minds.length} agents</summary>
            <div class="steps">{minds.map((group, place) => <Steps key={place} group={group} chosen={chosen} />)}</div>
          </details>
        );
      })}
    </div>
  );
}

function Steps({ group, chosen }: { group: Group; chosen: number }) {
  return (
    <div class={`steps-of ${group.agent ? "agent" : ""}`}>
      {group.agent && <b class="small data">{group.agent}</b>}
      <ol>
        {group.steps.map(({ visit, place }) => (
          <li key={place}>
            <button aria-pressed={place === chosen} onClick={() => goWith({ node: place })}>{inWords(visit.node)}</button>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** A value of the state before and after a step; undefined where there is none. */
interface Entry {
  readonly key: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

function State({ visit, place, isAll }: { visit: Visit; place: number; isAll: boolean }) {
  const entries = useMemo(() => entriesOf(visit), [visit]);
  const changed = entries.filter(isChanged);
  const shown = isAll ? entries : changed;
  return (
    <section class="stack" aria-label="State of the chosen node">
      <h4>{place}. {inWords(visit.node)}{visit.agent && <>, <bdi class="data">{visit.agent}</bdi></>}</h4>
      {changed.length === 0 && <p class="small">This node changed nothing in the state: what it made is stored elsewhere, as candidates or calls of the model.</p>}
      <div class="row small">
        <span>{changed.length} of {entries.length} values changed</span>
        <button class="plain" onClick={() => goWith({ keys: isAll ? null : "all" })}>{isAll ? "Show what changed" : "Show all values"}</button>
      </div>
      {shown.length > 0 && (
        <div class="scroller" tabIndex={0} role="region" aria-label="Values before and after">
          <table class="states">
            <thead><tr><th scope="col">value</th><th scope="col">before</th><th scope="col">after</th></tr></thead>
            <tbody>
              {shown.map((entry) => (
                <tr key={entry.key} class={isChanged(entry) ? "changed" : ""}>
                  <th scope="row" class="data">{entry.key}{isChanged(entry) && isAll && <span class="tag">changed</span>}</th>
                  <td><Value of={entry.before} /></td>
                  <td><Value of={entry.after} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Value({ of }: { of: string | undefined }) {
  return of === undefined ? <span class="muted">–</span> : <span class="code"><LongText text={of} most={240} /></span>;
}

function isChanged(entry: Entry): boolean {
  return entry.before !== entry.after;
}

/** Return all values of a step's state, those of objects each for itself. */
function entriesOf(visit: Visit): Entry[] {
  const before = new Map(leaves(visit.before, ""));
  const after = new Map(leaves(visit.after, ""));
  return [...new Set([...before.keys(), ...after.keys()])].map((key) => ({ key, before: before.get(key), after: after.get(key) }));
}

function* leaves(value: unknown, path: string): Generator<[string, string]> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
  if (!isObject) {
    if (path) yield [path, typeof value === "string" ? value : JSON.stringify(value)];
    return;
  }
  for (const [key, inner] of Object.entries(value)) yield* leaves(inner, path ? `${path} › ${key}` : key);
}

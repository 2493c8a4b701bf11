/** How a turn came about: its prompt with scores and the λ slider, candidates, minds, states and cost. */

import { useRef } from "preact/hooks";
import { Answer } from "../components/answer";
import { Notice, Tabs, WithDocument } from "../components/parts";
import type { Run } from "../documents";
import { hrefOf, usePlace } from "../router";
import "../styles/turn.css";
import { useDocument } from "../use_document";
import { RoundMinds } from "./minds";
import { CandidatesPane } from "./turn/candidates";
import { CostPane } from "./turn/cost";
import { Head } from "./turn/head";
import { PartChooser, partOf } from "./turn/parts";
import { PromptPane } from "./turn/prompt";
import { StatesPane } from "./turn/states";
import type { TurnDocument } from "./turn_documents";

const TITLES = { prompt: "Prompt", candidates: "Candidates", minds: "Minds", states: "States", cost: "Cost" } as const;
type Pane = keyof typeof TITLES;

export function TurnPane({ run, turn }: { run: Run; turn: number }) {
  const loaded = useDocument<TurnDocument>(`runs/${encodeURIComponent(run.run)}/turns/${turn}`);
  // While the next turn is read, the last one stays: nothing jumps as one goes from turn to turn.
  const last = useRef(loaded);
  if (loaded.state !== "loading" || (last.current.state === "ready" && last.current.value.run !== run.run)) {
    last.current = loaded;
  }
  return (
    <section class="making stack" aria-label={`Turn ${turn}`} aria-busy={loaded.state === "loading"}>
      <WithDocument of={last.current}>{(document) => <Turn run={run} document={document} />}</WithDocument>
    </section>
  );
}

function Turn({ run, document }: { run: Run; document: TurnDocument }) {
  const { path, query } = usePlace();
  const panes = panesOf(run, document);
  // A meeting opens with its race: what it is about is who speaks, and its prompts are often not scored.
  const usual: Pane = document.cognition?.length ? "minds" : "prompt";
  const asked = (query.pane ?? usual) as Pane;
  const pane = panes.includes(asked) ? asked : usual;
  const making = partOf(document, query.part);
  // A turn that a fork shares was made with its parent's settings.
  const was = { ...run, rehearsed: document.made_with.rehearsed };
  const ofMinds = { ...was, parameters: { ...run.parameters, ...document.made_with.parameters } };
  const links = panes.map((name) => [TITLES[name], hrefOf(path, { ...query, turn: document.turn, pane: name })] as const);
  return (
    <>
      <Head run={run} document={document} making={making}>
        <Answer run={was} document={document} making={making} part={making === document ? "" : query.part!} withUnits={pane === "minds"} />
      </Head>
      {document.parts && <PartChooser document={document} chosen={query.part} />}
      <Tabs label="How the turn came about" links={links} shown={TITLES[pane]} />
      <div class="pane stack">
        {asked !== pane && <Notice><p>This turn has no {asked}; its {TITLES[usual].toLowerCase()} {usual === "minds" ? "are" : "is"} shown instead.</p></Notice>}
        {pane === "prompt" && <PromptPane key={making.prompt} run={was} making={making} />}
        {pane === "candidates" && <CandidatesPane making={making} />}
        {pane === "minds" && <RoundMinds run={ofMinds} turn={document.turn} />}
        {pane === "states" && <StatesPane key={document.turn} run={run} turn={document.turn} />}
        {pane === "cost" && <CostPane run={was} turn={document.turn} />}
      </div>
    </>
  );
}

function panesOf(run: Run, document: TurnDocument): Pane[] {
  const panes: Pane[] = ["prompt"];
  if (document.candidates.length) panes.push("candidates");
  if (run.kind === "group_chat") panes.push("minds");
  return [...panes, "states", "cost"];
}

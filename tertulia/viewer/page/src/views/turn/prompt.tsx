/** The prompt of an utterance: what its line leaned on, and what λ removes, as it was and as it would be. */

import { asSentence, lambda } from "../../format";
import { Command } from "../../components/command";
import { useMemo } from "preact/hooks";
import { Notice } from "../../components/parts";
import type { Run } from "../../documents";
import { goWith, usePlace } from "../../router";
import { type Order, Pruning, type Removal, type Walk } from "../../pruning";
import type { Making, Scorer } from "../turn_documents";
import { WhatIsLambda } from "../../components/explained";
import { LambdaPanel } from "./lambda";
import { remarksOn, removalInWords } from "./removal_words";
import { ScorersInWords } from "./scorers";
import { type Shading, shadingByLambda, shadingByLine } from "./shading";
import { Units } from "./units";
import { SliderFork } from "../fork/slider_fork";
import { moveFactor, resetSlider, useFactor } from "./slider_value";

const ORDERS: readonly Order[] = ["descending", "ascending", "placebo"];
const WALKS: readonly Walk[] = ["paper", "first_overshoot", "nearest", "calm"];

export function PromptPane({ run, making }: { run: Run; making: Making }) {
  if (making.speaker === null) {
    return <Notice><p>Nobody spoke in this turn, so there was no prompt. Choose a turn in which somebody speaks.</p></Notice>;
  }
  if (making.prompt === null) {
    return <Notice><p>This turn was written by hand, so there was no prompt and no judge. Choose a turn that a model wrote.</p></Notice>;
  }
  return <WithPrompt run={run} making={making} />;
}

function WithPrompt({ run, making }: { run: Run; making: Making }) {
  const scorers = useMemo(() => making.scorers.filter((scorer) => isComplete(making, scorer)), [making]);
  const line = useMemo(() => shadingByLine(making, run.rehearsed), [making]);
  return scorers.length ? <Scored run={run} making={making} scorers={scorers} line={line} /> : <Unscored run={run} making={making} line={line} />;
}

/** Whether every unit that λ may remove has a score; a scorer of a user's may have left some out. */
function isComplete(making: Making, scorer: Scorer): boolean {
  return making.units.every((unit) => !unit.removable || Object.hasOwn(scorer.scores, unit.id));
}

function Unscored({ run, making, line }: { run: Run; making: Making; line: Shading | null }) {
  return (
    <>
      <h3>The prompt (not scored for λ)</h3>
      <Notice>
        {making.scored_by
          ? <p>The scores of {making.scored_by} do not cover all removable units, so other values of λ can't be tried here.</p>
          : <p>Nothing was scored for λ and nothing removed, because λ was {lambda(making.removal_factor)}. This fork has the same prompt here, and records its scores:</p>}
        {making.pace && <p class="small data">{making.pace}</p>}
        {!making.scored_by && <p><Command words={["fork", run.run, "--at", `${making.turn}`, "--set", "record_scores=true"]} /></p>}
        {!making.scored_by && <WhatIsLambda />}
      </Notice>
      <Units making={making} shading={line} removals={[]} isWhatIf={false} />
    </>
  );
}

interface ScoredProps {
  readonly run: Run;
  readonly making: Making;
  readonly scorers: readonly Scorer[];
  /** The shading by what the line leaned on; null where that is not known. */
  readonly line: Shading | null;
}

function Scored({ run, making, scorers, line }: ScoredProps) {
  const { query } = usePlace();
  const order = ORDERS.find((order) => order === query.order) ?? making.removal.order;
  const walk = WALKS.find((walk) => walk === query.walk) ?? making.removal.walk;
  const factor = useFactor();
  const prunings = useMemo(
    () => scorers.map(({ scores }) => new Pruning(making.units, (id) => scores[id]!, order, walk, making.removal.drawn)),
    [making, order, walk],
  );
  const recorded = useMemo(() => recordedRemoval(making, prunings[0]!), [making, prunings]);
  const lambdas = useMemo(() => shadingByLambda(making.units, scorers, prunings, run.model), [making, prunings]);
  const units = useMemo(() => new Map(making.units.map((unit) => [unit.id, unit])), [making]);
  const isOwn = making.scored_by !== null;
  const isOther = order !== making.removal.order || walk !== making.removal.walk;
  const isWhatIf = factor !== null || isOther || !isOwn;
  const isLeaned = line !== null && (query.shade === "leaned" || (query.shade !== "removed" && factor === null && !isOther));
  const at = factor ?? making.removal.factor ?? making.removal_factor ?? 0;
  const move = (factor: number | null) => {
    if (query.shade === "leaned") goWith({ shade: null }); // what is moved is shown
    moveFactor(factor);
  };
  const removals = prunings.map((pruning, place) => (place === 0 && !isWhatIf ? recorded : pruning.removal(at)));
  const removal = removals[0]!;
  const remarks = isWhatIf ? remarksOn(units, prunings[0]!, removal, at, walk, order) : making.remarks;
  return (
    <>
      <h3 class="visually-hidden">What λ removes</h3>
      <div class="prompt">
        <div class="controls">
          {!isOwn && (
            <p class="small">
              Nothing was scored in this run. These scores are from run {scorers[0]!.run}, by{" "}
              <span class="data">{scorers[0]!.scored_by}</span>, which had the same prompt.
            </p>
          )}
          <LambdaPanel
            at={at} setFactor={move} reset={isOwn ? resetSlider : null} runFactor={making.removal.factor}
            pruning={prunings[0]!} removal={removal} recorded={isWhatIf && isOwn ? recorded : null}
            words={removalInWords(making, removal, prunings[0]!.visited.length, isWhatIf ? at : null)} whole={making.removal.whole}
            fork={<SliderFork run={run} turn={making.turn} />}
          />
          {!isWhatIf && making.pace && <p class="small data">{making.pace}</p>}
          {remarks.length > 0 && (
            <ul class="remarks small" aria-label="Remarks">{remarks.map((remark) => <li key={remark} class="data">{asSentence(remark)}</li>)}</ul>
          )}
          <details class="small how" open={isOther}>
            <summary>Other orders and walks</summary>
            <Settings order={order} walk={walk} />
          </details>
          {run.rehearsed && <p class="small muted">This run was rehearsed: a stand-in spoke, and the scores are random.</p>}
          <ScorersInWords scorers={scorers} removals={removals} run={run.run} turn={making.turn} isOwn={isOwn} />
        </div>
        <Units making={making} shading={isLeaned ? line : lambdas} removals={isLeaned ? [] : removals} isWhatIf={!isLeaned && isWhatIf && isOwn}>
          {line && <ShadeSwitch isLeaned={isLeaned} />}
        </Units>
      </div>
    </>
  );
}

/** Which question the shades answer. */
function ShadeSwitch({ isLeaned }: { isLeaned: boolean }) {
  return (
    <span class="switched" role="group" aria-label="What the shades show">
      <button aria-pressed={isLeaned} onClick={() => goWith({ shade: "leaned" })}>Leaned on</button>
      <button aria-pressed={!isLeaned} onClick={() => goWith({ shade: "removed" })}>Removed by λ</button>
    </span>
  );
}

function recordedRemoval(making: Making, pruning: Pruning): Removal {
  const removed = making.units.filter((unit) => unit.removed);
  const items = new Set(removed.filter((unit) => unit.removable).map((unit) => unit.id));
  const share = pruning.visited.reduce((sum, id, place) => sum + (items.has(id) ? pruning.shares[place]! : 0), 0);
  return { units: new Set(removed.map((unit) => unit.id)), items, share };
}

/** How Algorithm 1 walks: as in the run, until the reader chooses. */
function Settings({ order, walk }: { order: Order; walk: Walk }) {
  const choose = (name: string) => (event: Event) => goWith({ shade: null, [name]: (event.target as HTMLSelectElement).value });
  return (
    <div class="row small walk">
      <label>
        Units are visited from the{" "}
        <select value={order} onChange={choose("order")}>
          <option value="descending">highest score down</option>
          <option value="ascending">lowest score up</option>
          <option value="placebo">highest, and as many words are removed at random (placebo)</option>
        </select>
      </label>
      <label>
        a unit that would overshoot λ{" "}
        <select value={walk} onChange={choose("walk")}>
          <option value="paper">is skipped (paper)</option>
          <option value="first_overshoot">ends the walk (first_overshoot)</option>
          <option value="nearest">ends it, removed if that is nearer to λ (nearest)</option>
          <option value="calm">is skipped, until within 0.02 of λ (calm)</option>
        </select>
      </label>
    </div>
  );
}

/** The λ slider, below what it removes: the curve over all λ, and the units in the order in which they are visited. */

import { Term, WhatIsLambda } from "../../components/explained";
import { lambda } from "../../format";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Pruning, Removal } from "../../pruning";
import type { Making } from "../turn_documents";

/** The slider has so many steps; the curve has a figure for each. */
const STEPS = 100;

interface Props {
  readonly at: number;
  readonly setFactor: (factor: number | null) => void;
  /** Goes back to what the run removed; null where it scored nothing. */
  readonly reset: (() => void) | null;
  readonly runFactor: number | null;
  readonly pruning: Pruning;
  readonly removal: Removal;
  /** What the run removed, where something else is shown. */
  readonly recorded: Removal | null;
  readonly words: string;
  readonly whole: Making["removal"]["whole"];
  /** The fork that has what is set here. */
  readonly fork: ComponentChildren;
}

export function LambdaPanel(props: Props) {
  const { at, setFactor, reset, runFactor, pruning, removal, recorded, words, whole, fork } = props;
  const removable = pruning.visited.length;
  const move = (event: Event) => {
    const { value } = event.target as HTMLInputElement;
    const factor = value === "" ? NaN : Number(value);
    if (factor >= 0 && factor <= 1) setFactor(factor);
  };
  const style = { "--at": at, "--share": removal.share, "--run": runFactor ?? 0 };
  return (
    <div class="lambda card" style={style}>
      <div class="row">
        <label class="factor">λ = <input type="number" min="0" max="1" step="0.01" value={Number(at.toFixed(4))} onChange={move} aria-label="λ as a number" /></label>
        {reset && <button aria-pressed={!recorded} onClick={reset}>As it was{runFactor !== null && ` (λ = ${lambda(runFactor)})`}</button>}
        <WhatIsLambda />
        <p class="words-of-removal">
          {words}{" "}
          {recorded && <Difference removal={removal} recorded={recorded} />}
        </p>
      </div>
      <div class="scale">
        <div class="plots" aria-hidden="true">
          <Curve pruning={pruning} />
          <WalkStrip pruning={pruning} removal={removal} />
          {runFactor !== null && <div class="own"><span>this run</span></div>}
          <div class="now"><span class="number">{(removal.share * 100).toFixed(0)} % removed</span></div>
          <div class="dot" />
        </div>
        <input
          type="range" min="0" max="1" step="0.01" value={at} onInput={move} aria-label="λ"
          aria-valuetext={`λ = ${lambda(at)}: ${removal.items.size} of ${removable} items removed`}
        />
        <div class="ticks number" aria-hidden="true"><span>0</span><span>0.25</span><span>0.5</span><span>0.75</span><span>1</span></div>
      </div>
      <Legend whole={whole} />
      {fork}
    </div>
  );
}

/** What the lines and boxes above the slider are. */
function Legend({ whole }: { whole: Making["removal"]["whole"] }) {
  return (
    <p class="small muted legend">
      Removed at every λ: <span><i class="line share" /> <Term of={whole} /></span>, <span><i class="line count" /> <Term of="item">items</Term></span>. Items as they
      are visited, as wide as their shares: <span><i class="box gone" /> removed</span>, <span><i class="box" /> kept</span>.
    </p>
  );
}

function Difference({ removal, recorded }: { removal: Removal; recorded: Removal }) {
  const more = [...removal.items].filter((id) => !recorded.items.has(id)).length;
  const fewer = [...recorded.items].filter((id) => !removal.items.has(id)).length;
  if (!more && !fewer) return <b>The same items as in the run.</b>;
  return <b>Against the run: {more} newly removed, {fewer} kept now.</b>;
}

/** The share of the score, and of the items, that is removed, for every λ. */
function Curve({ pruning }: { pruning: Pruning }) {
  const { share, count } = useMemo(() => {
    const removals = Array.from({ length: STEPS + 1 }, (_, step) => pruning.removal(step / STEPS));
    const all = pruning.visited.length || 1;
    return { share: steps(removals.map((r) => r.share)), count: steps(removals.map((r) => r.items.size / all)) };
  }, [pruning]);
  return (
    <svg class="curve" viewBox="0 0 1 1" preserveAspectRatio="none">
      <path class="target" d="M0 1L1 0" />
      <path class="area" d={`${share}V1H0Z`} />
      <path class="count" d={count} />
      <path class="share" d={share} />
    </svg>
  );
}

/** Return the outline of figures in [0, 1], each of which holds until the next. */
function steps(figures: readonly number[]): string {
  const [first = 0, ...others] = figures.map((figure) => (1 - figure).toFixed(4));
  return `M0 ${first}${others.map((figure, place) => `H${((place + 1) / STEPS).toFixed(3)}V${figure}`).join("")}`;
}

/** The removable units as they are visited, each as wide as its share: what is removed is filled and full in height. */
function WalkStrip({ pruning, removal }: { pruning: Pruning; removal: Removal }) {
  const starts = useMemo(() => {
    let start = 0;
    return pruning.shares.map((share) => (start += share) - share);
  }, [pruning]);
  return (
    <svg class="strip" viewBox="0 0 1 1" preserveAspectRatio="none">
      {pruning.visited.map((id, place) => {
        const isGone = removal.items.has(id);
        const height = isGone ? 1 : 0.5;
        return <rect key={id} class={isGone ? "gone" : ""} x={starts[place]} y={1 - height} width={pruning.shares[place]} height={height} />;
      })}
    </svg>
  );
}

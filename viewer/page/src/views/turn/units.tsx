/** The units of a prompt, each with its scores; only those whose removal changes are drawn anew. */

import { Component, type VNode } from "preact";
import { useMemo } from "preact/hooks";
import { inWords } from "../../format";
import type { Pruning, Removal } from "../../pruning";
import type { Making, Scorer, Unit } from "../turn_documents";
import { LongText } from "./long_text";
import { OrderSwitch, type UnitOrder, useUnitOrder } from "./unit_order";
import { letterOf } from "./scorers";

/** From so many units on, those out of sight are not laid out. */
const MANY = 120;

/** Letters of a unit by weight: the heaviest few are in view at once. */
const SHORT = 100;

/** A score as it stands on the page. */
interface Figure {
  readonly text: string;
  /** The share of the removable units' score in [0, 1]; null where λ can't remove the unit. */
  readonly share: number | null;
  /** The bar's length in [0, 1]: the root of the score, of the highest that λ may remove. */
  readonly bar: number;
}

interface Group {
  /** Differs from those of all other prompts: rows keep what they were made with. */
  readonly key: number;
  readonly title: string;
  readonly share: number | null;
  readonly units: readonly { readonly unit: Unit; readonly figures: readonly (Figure | null)[] }[];
}

interface Props {
  readonly making: Making;
  readonly scorers: readonly Scorer[];
  readonly prunings: readonly Pruning[];
  readonly removals: readonly Removal[];
  /** Whether something else than what the run removed is shown, and what differs is marked. */
  readonly isWhatIf: boolean;
}

export function Units({ making, scorers, prunings, removals, isWhatIf }: Props) {
  const [order, setOrder] = useUnitOrder();
  const isByWeight = order === "weight" && scorers.length > 0;
  const groups = useMemo(() => groupsOf(making, scorers, prunings, isByWeight ? "weight" : "prompt"), [making, scorers, isByWeight]);
  return (
    <div class={`units scorers-${Math.min(scorers.length, 5)} ${isByWeight ? "by-weight" : ""} ${making.units.length > MANY ? "many" : ""}`}>
      {scorers.length > 0 && (
        <div class="row units-head">
          <OrderSwitch order={order} setOrder={setOrder} />
          <p class="small muted">
            {scorers.length > 1 ? "share of the attention and score, by A, B, …" : "share of the attention, score"}
            <span class="visually-hidden">; bars and shades grow with the root of the score</span>
          </p>
        </div>
      )}
      {groups.map((group) => (
        <section key={group.key} class="block">
          <h4 class={isByWeight && group.share !== null ? "visually-hidden" : ""}>
            {group.title}
            {group.share !== null && <span class="muted number"> {(group.share * 100).toFixed(1)} %</span>}
          </h4>
          <ul>
            {group.units.map(({ unit, figures }) => (
              <UnitRow
                key={unit.id} unit={unit} figures={figures}
                gone={removals.length ? removals.map((removal) => (removal.units.has(unit.id) ? "1" : "0")).join("") : unit.removed ? "1" : "0"}
                was={isWhatIf ? unit.removed : null} block={isByWeight ? inWords(unit.block) : null}
              />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

let keys = 0;

type MutableGroup = { key: number; title: string; share: number | null; units: { unit: Unit; figures: (Figure | null)[] }[] };

/**
 * Return the units with their figures: by runs of units of the same block or, by weight, those that λ may remove, heaviest
 * first by the first scorer, and then the others.
 */
function groupsOf(making: Making, scorers: readonly Scorer[], prunings: readonly Pruning[], order: UnitOrder): Group[] {
  const shares = prunings.map(({ visited, shares }) => new Map(visited.map((id, place) => [id, shares[place]!])));
  const highest = scorers.map(({ scores }, place) =>
    Math.max(...prunings[place]!.visited.map((id) => scores[id]!)) || Math.max(...Object.values(scores)) || 1);
  const groups: MutableGroup[] = [];
  const scores = scorers[0]?.scores ?? {};
  // Sorting is stable: ties keep the prompt's order.
  const units = order === "prompt" ? making.units
    : [...making.units].sort((a, b) => Number(b.removable) - Number(a.removable) || (a.removable ? scores[b.id]! - scores[a.id]! : 0));
  for (const unit of units) {
    const figures = scorers.map(({ scores }, place) =>
      figureOf(scores[unit.id], shares[place]!.get(unit.id) ?? null, highest[place]!));
    const title = order === "prompt" ? inWords(unit.block) : unit.removable ? "What λ may remove" : "What λ never removes";
    let group = groups.at(-1);
    if (group?.title !== title) groups.push((group = { key: (keys += 1), title, share: null, units: [] }));
    group.units.push({ unit, figures });
    const share = figures[0]?.share ?? null;
    if (share !== null) group.share = (group.share ?? 0) + share;
  }
  return groups;
}

function figureOf(score: number | undefined, share: number | null, highest: number): Figure | null {
  if (score === undefined) return null;
  const isPlain = highest >= 0.01 && highest < 1e5;
  const text = score === 0 ? "0" : isPlain ? score.toFixed(3) : score.toExponential(2);
  return { text, share, bar: Math.min(1, Math.sqrt(score / highest)) };
}

interface RowProps {
  readonly unit: Unit;
  readonly figures: readonly (Figure | null)[];
  /** By scorer whether the unit is removed, as `1` and `0`. */
  readonly gone: string;
  /** Whether the run removed the unit; null where that is what is shown. */
  readonly was: boolean | null;
  /** The name of its block, where that does not stand above it. */
  readonly block: string | null;
}

class UnitRow extends Component<RowProps> {
  /** What no λ changes; drawn once, as all of a long prompt is drawn anew in a single frame of the slider. */
  private readonly text = <LongText text={this.props.unit.text} most={this.props.block === null ? undefined : SHORT} />;
  private readonly figures = this.props.figures.map((figure) => <Figures of={figure} isRemovable={this.props.unit.removable} />);

  override shouldComponentUpdate(next: RowProps): boolean {
    return this.props.gone !== next.gone || this.props.was !== next.was;
  }

  override render({ unit, figures, gone, was, block }: RowProps) {
    const isGone = gone[0] === "1";
    const isChanged = was !== null && was !== isGone;
    const word = wordOf(unit, isGone, was);
    return (
      <li class={`unit ${unit.kind} ${unit.removable ? "" : "fixed"} ${isGone ? "gone" : ""} ${isChanged ? "changed" : ""}`} data-unit={unit.id} data-removed={gone}>
        {figures.length > 0 && (
          <div class="scores">
            {this.figures.map((figures, place) => (
              <Score key={place} figures={figures} letter={this.figures.length > 1 ? letterOf(place) : null} isGone={gone[place] === "1"} />
            ))}
            {block && <span class="block-of muted">{block}</span>}
          </div>
        )}
        <div class="text" style={{ "--heat": figures[0]?.share != null ? figures[0].bar : 0 }}>
          {this.text}
          {word && <span class={`mark-of ${isGone ? "gone" : "kept"}`}>{word}</span>}
        </div>
      </li>
    );
  }
}

/** Return what becomes of a unit, in words; nothing where it simply stays. */
function wordOf(unit: Unit, isGone: boolean, was: boolean | null): string {
  if (!isGone) return was ? "kept now" : "";
  const removed = unit.removable ? "removed" : "removed with its block";
  return was === false ? `newly ${removed}` : removed;
}

interface ScoreProps {
  readonly figures: VNode;
  /** The scorer's letter; null where there is only one. */
  readonly letter: string | null;
  readonly isGone: boolean;
}

class Score extends Component<ScoreProps> {
  override shouldComponentUpdate(next: ScoreProps): boolean {
    return this.props.isGone !== next.isGone;
  }

  override render({ figures, letter, isGone }: ScoreProps) {
    return (
      <span class={`score number ${letter ? "lettered" : ""} ${isGone ? "gone" : ""}`}>
        {letter && <span class="letter">{letter}</span>}
        {figures}
        {letter && <span class="cross">{isGone && <><span aria-hidden="true">✗</span><span class="visually-hidden">removed by {letter}</span></>}</span>}
      </span>
    );
  }
}

function Figures({ of, isRemovable }: { of: Figure | null; isRemovable: boolean }) {
  return (
    <>
      <span class="bar-room">{of && <span class="bar" style={{ "--bar": of.bar }} />}</span>
      <span class="share">{of?.share != null ? `${(of.share * 100).toFixed(1)} %` : isRemovable ? "" : "fixed"}</span>
      <span class="value">{of ? of.text : "–"}</span>
    </>
  );
}

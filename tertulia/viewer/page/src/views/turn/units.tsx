/** The units of a prompt, each with its figures; only those whose removal changes are drawn anew. */

import { Component, type ComponentChildren, type VNode } from "preact";
import { useMemo } from "preact/hooks";
import { Prose } from "../../components/explained";
import { inWords } from "../../format";
import type { Removal } from "../../pruning";
import type { Making, Unit } from "../turn_documents";
import { LongText } from "./long_text";
import { letterOf } from "./scorers";
import { byWeight, type Figure, type Shading } from "./shading";
import { OrderSwitch, useUnitOrder } from "./unit_order";

/** From so many units on, those out of sight are not laid out. */
const MANY = 120;

/** Letters of a unit by weight: the heaviest few are in view at once. */
const SHORT = 100;

interface Group {
  /** Differs from those of all other prompts: rows keep what they were made with. */
  readonly key: number;
  readonly title: string;
  readonly share: number | null;
  readonly units: readonly { readonly unit: Unit; readonly figures: readonly Figure[] }[];
}

interface Props {
  readonly making: Making;
  /** What units are shaded by; null: by nothing. */
  readonly shading: Shading | null;
  readonly removals: readonly Removal[];
  /** Whether something else than what the run removed is shown, and what differs is marked. */
  readonly isWhatIf: boolean;
  /** The switch between two shadings. */
  readonly children?: ComponentChildren;
}

export function Units({ making, shading, removals, isWhatIf, children }: Props) {
  const [order, setOrder] = useUnitOrder();
  const isByWeight = order === "weight" && shading !== null;
  const groups = useMemo(() => groupsOf(making, shading, isByWeight), [making, shading, isByWeight]);
  const scorers = groups[0]?.units[0]?.figures.length ?? 0;
  return (
    <div class={`units scorers-${Math.min(scorers, 5)} ${shading?.question ?? ""} ${isByWeight ? "by-weight" : ""} ${making.units.length > MANY ? "many" : ""}`}>
      {shading && (
        <div class="row units-head">
          {children}
          <OrderSwitch order={order} setOrder={setOrder} />
          <p class="small muted caption">
            <Prose text={shading.caption} />
            <span class="visually-hidden"> Bars and shades grow with the root of the figure.</span>
          </p>
        </div>
      )}
      {groups.map((group, place) => (
        <section key={group.key} class="block">
          <h4 class={isByWeight && place === 0 ? "visually-hidden" : ""}>
            {group.title}
            {group.share !== null && <span class="muted number"> {(group.share * 100).toFixed(1)} %</span>}
          </h4>
          <ul>
            {group.units.map(({ unit, figures }) => (
              <UnitRow
                key={unit.id} unit={unit} figures={figures} mark={shading?.markOf(unit) ?? ""}
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

type MutableGroup = { key: number; title: string; share: number | null; units: { unit: Unit; figures: readonly Figure[] }[] };

/** Return the units with their figures: by runs of units of the same block or, by weight, heaviest first by group. */
function groupsOf(making: Making, shading: Shading | null, isByWeight: boolean): Group[] {
  const groups: MutableGroup[] = [];
  for (const unit of isByWeight ? byWeight(making.units, shading!) : making.units) {
    const title = isByWeight ? shading!.groupOf(unit) : inWords(unit.block);
    let group = groups.at(-1);
    if (group?.title !== title) groups.push((group = { key: (keys += 1), title, share: null, units: [] }));
    group.units.push({ unit, figures: shading?.figuresOf(unit) ?? [] });
    const share = shading?.shareOf(unit) ?? null;
    if (share !== null) group.share = (group.share ?? 0) + share;
  }
  return groups;
}

interface RowProps {
  readonly unit: Unit;
  readonly figures: readonly Figure[];
  readonly mark: string;
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
  private readonly figures = this.props.figures.map((figure) => <Figures of={figure} />);

  override shouldComponentUpdate(next: RowProps): boolean {
    return this.props.gone !== next.gone || this.props.was !== next.was;
  }

  override render({ unit, figures, mark, gone, was, block }: RowProps) {
    const isGone = gone[0] === "1";
    const isChanged = was !== null && was !== isGone;
    const word = wordOf(unit, isGone, was);
    const isFixed = figures.length ? figures[0]!.texts[0] === "fixed" : !unit.removable;
    return (
      <li class={`unit ${unit.kind} ${isFixed ? "fixed" : ""} ${isGone ? "gone" : ""} ${isChanged ? "changed" : ""}`} data-unit={unit.id} data-removed={gone}>
        {figures.length > 0 && (
          <div class="scores">
            {this.figures.map((figures, place) => (
              <Score key={place} figures={figures} letter={this.figures.length > 1 ? letterOf(place) : null} isGone={gone[place] === "1"} />
            ))}
            {block && <span class="block-of muted">{block}</span>}
          </div>
        )}
        <div class="text" style={{ "--heat": figures[0]?.heat ?? 0 }}>
          {this.text}
          {mark && <span class="mark-of kept">{mark}</span>}
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

function Figures({ of }: { of: Figure }) {
  return (
    <>
      <span class="bar-room">{of.bar > 0 && <span class="bar" style={{ "--bar": of.bar }} />}</span>
      {of.texts.map((text, place) => <span key={place} class={place ? "value" : "share"}>{text}</span>)}
    </>
  );
}

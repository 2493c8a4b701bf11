/** What the units of a prompt are shaded and ordered by: what its line leaned on, or what λ removes. Never both. */

import { type Pruning, removedWithBlocks } from "../../pruning";
import type { Making, Scorer, Unit } from "../turn_documents";

/** A unit's figure, as it stands on the page. */
export interface Figure {
  /** The number that counts; a second one beside it. */
  readonly texts: readonly string[];
  /** The bar's length in [0, 1]: the root of the score, of the highest that λ may remove. */
  readonly bar: number;
  /** The shade's strength in [0, 1]. */
  readonly heat: number;
}

export interface Shading {
  readonly question: "leaned" | "removed";
  /** What the figures are, in a sentence. */
  readonly caption: string;
  readonly isInNats: boolean;
  /** Return the figures of a unit, one by each scorer. */
  readonly figuresOf: (unit: Unit) => readonly Figure[];
  /** Return what is said of a unit besides; empty where that is nothing. */
  readonly markOf: (unit: Unit) => string;
  /** Return by what units stand where they stand by weight, the highest first. */
  readonly weightOf: (unit: Unit) => number;
  /** Return the unit's share of all that λ may remove; null where there is none. */
  readonly shareOf: (unit: Unit) => number | null;
  /** Return what units stand under where they stand by weight. */
  readonly groupOf: (unit: Unit) => string;
}

const [GONE, FIXED] = ["Removed by λ before the line was said", "What λ never removes"];
const [LEANED, REMOVABLE, DEPENDENT] = ["What the line could lean on", "What λ may remove", "Texts that go once their block has lost all items"];
const GROUPS = [LEANED, REMOVABLE, GONE, DEPENDENT, FIXED];

/** From where on a line leans on a unit (state/line_scores.py); what is below is neither shaded nor has a bar. */
const [LEAST_LOSS, LEAST_ATTENTION] = [0.1, 0.01];

/** Return the shading by what the line of a turn leaned on; null where that is not known. */
export function shadingByLine(making: Making, isRehearsed: boolean): Shading | null {
  const isInNats = (making.line_scored_by ?? "").includes(", learned heads ");
  // A measurement counts instead of an estimate; beside attention it is no figure of the same kind.
  const measured = making.measured ?? {};
  const scoreOf = ({ id, line_score }: Unit) => (isInNats ? measured[id] : undefined) ?? line_score ?? null;
  const scores = making.units.map(scoreOf).filter((score) => score !== null);
  if (!scores.length) return null;
  const least = isInNats ? LEAST_LOSS : LEAST_ATTENTION;
  const highest = Math.max(...scores, least);
  const dependent = dependentOf(making.units);
  return {
    question: "leaned",
    caption: isRehearsed ? "Random numbers, as this run was rehearsed."
      : isInNats ? `Nats a token that the line ${Object.keys(measured).length ? "loses without the item, estimated or measured" : "is estimated to lose without the item"}.`
      : "Attention of the line to the item beyond a neutral reply's, mean over heads and layers.",
    isInNats,
    figuresOf(unit) {
      const score = scoreOf(unit);
      if (score === null) return [{ texts: [unit.removable || dependent.has(unit.id) ? "–" : "fixed"], bar: 0, heat: 0 }];
      const bar = score < least ? 0 : barOf(score, highest);
      return [{ texts: [figure(score, highest)], bar, heat: bar }];
    },
    markOf({ id }) {
      const loss = measured[id];
      return loss === undefined ? "" : isInNats ? "measured" : `measured: ${figure(loss, 1)} nats a token`;
    },
    weightOf: (unit) => scoreOf(unit) ?? 0,
    shareOf: () => null,
    groupOf: (unit) =>
      unit.removed && unit.removable ? GONE : unit.removable || scoreOf(unit) !== null ? LEANED : dependent.has(unit.id) ? DEPENDENT : FIXED,
  };
}

/** Return the shading by the scores of λ, the first scorer's first; null where nobody scored. */
export function shadingByLambda(units: readonly Unit[], scorers: readonly Scorer[], prunings: readonly Pruning[], model: string): Shading | null {
  const [first] = scorers;
  if (!first) return null;
  const dependent = dependentOf(units);
  const shares = prunings.map(({ visited, shares }) => new Map(visited.map((id, place) => [id, shares[place]!])));
  const highest = scorers.map(({ scores }, place) =>
    Math.max(...prunings[place]!.visited.map((id) => scores[id]!)) || Math.max(...Object.values(scores)) || 1);
  const whose = scorers.length > 1 ? "by A, B, …" : isAttention(first.scored_by, model) ? "from possible replies to the full prompt" : `by ${first.scored_by}`;
  return {
    question: "removed",
    caption: `Share and score of what λ may remove: ${whose}.`,
    isInNats: false,
    figuresOf: (unit) => scorers.map(({ scores }, place) => {
      const [score, share] = [scores[unit.id], shares[place]!.get(unit.id)];
      const bar = score === undefined ? 0 : barOf(score, highest[place]!);
      const said = share === undefined ? (unit.removable || dependent.has(unit.id) ? "" : "fixed") : `${(share * 100).toFixed(1)} %`;
      return { texts: [said, score === undefined ? "–" : figure(score, highest[place]!)], bar, heat: share === undefined ? 0 : bar };
    }),
    markOf: () => "",
    weightOf: (unit) => (unit.removable ? first.scores[unit.id]! : 0),
    shareOf: (unit) => shares[0]!.get(unit.id) ?? null,
    groupOf: (unit) => (unit.removable ? REMOVABLE : dependent.has(unit.id) ? DEPENDENT : FIXED),
  };
}

/** Return the ids of the texts that are removed with the last item of their block. */
function dependentOf(units: readonly Unit[]): ReadonlySet<string> {
  const removable = new Set(units.filter((unit) => unit.removable).map((unit) => unit.id));
  const gone = removedWithBlocks(units, removable);
  return new Set([...gone].filter((id) => !removable.has(id)));
}

/** Return units by group, and in each those with the highest weight first; ties keep the prompt's order. */
export function byWeight(units: readonly Unit[], { groupOf, weightOf }: Shading): Unit[] {
  const rank = (unit: Unit) => GROUPS.indexOf(groupOf(unit));
  return [...units].sort((a, b) => rank(a) - rank(b) || weightOf(b) - weightOf(a));
}

/** Whether a recorded scorer is the attention of the run's model, or of one that reads in its place; unnamed: it is. */
function isAttention(scoredBy: string | null, model: string): boolean {
  return scoredBy === null || scoredBy === model || scoredBy.startsWith(`${model}, `) || scoredBy.includes(" (surrogate of ");
}

function barOf(score: number, highest: number): number {
  return Math.min(1, Math.sqrt(Math.max(0, score) / highest));
}

function figure(score: number, highest: number): string {
  const isPlain = highest >= 0.01 && highest < 1e5;
  return score === 0 ? "0" : (isPlain ? score.toFixed(3) : score.toExponential(2)).replace("-", "−");
}

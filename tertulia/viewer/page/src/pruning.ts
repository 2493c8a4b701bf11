/**
 * Algorithm 1 on recorded scores, exactly as nodes/utterance/prune.py has it: what λ would remove from a prompt.
 *
 * Sums are exact in the decimals of the scores: a double stands for its shortest decimal, which is the same in Python
 * and here, and decimals of one prompt are brought to a common power of ten, so that they are whole numbers.
 */

export type Order = "descending" | "ascending" | "placebo";
export type Walk = "paper" | "first_overshoot" | "nearest" | "calm";

/** A unit as far as its removal depends on it. */
export interface PrunedUnit {
  readonly id: string;
  readonly block: string;
  readonly kind: string;
  readonly removable: boolean;
}

/** A removable unit in the order in which a placebo visits them, as the engine has drawn it, and its words. */
export interface DrawnUnit {
  readonly id: string;
  readonly words: number;
}

/** What one λ removes. */
export interface Removal {
  /** Ids of all removed units, those of emptied blocks' texts among them. */
  readonly units: ReadonlySet<string>;
  /** Ids of the removable units among them. */
  readonly items: ReadonlySet<string>;
  /** The share in [0, 1] of the removable units' score that the removed ones have. */
  readonly share: number;
}

/** A decimal number: `digits` · 10^`exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** Return the shortest decimal of a double ≥ 0, as `Fraction(repr(value))` is in Python. */
export function decimalOf(value: number): Decimal {
  const [mantissa = "0", power = "0"] = String(value).split("e");
  const [whole = "0", behind = ""] = mantissa.split(".");
  return { digits: BigInt(whole + behind), exponent: Number(power) - behind.length };
}

/** The removable units of a prompt with a score each, ready for any λ. */
export class Pruning {
  /** Ids of the removable units in the order in which they are visited. */
  readonly visited: readonly string[];
  private readonly scores: readonly bigint[];
  private readonly total: bigint;
  private readonly share: readonly number[];
  private readonly known = new Map<number, Removal>();

  /**
   * @param units The units of the full prompt, in prompt order.
   * @param scoreOf The score of a removable unit, a number ≥ 0.
   * @param drawn What the placebo visits; other orders need none. A placebo is visited as from the highest score down,
   *   and as many words are removed at random as that would remove.
   */
  constructor(
    private readonly units: readonly PrunedUnit[],
    scoreOf: (id: string) => number,
    private readonly order: Order,
    private readonly walk: Walk,
    private readonly drawn: readonly DrawnUnit[] = [],
  ) {
    const removable = units.filter((unit) => unit.removable);
    const decimals = removable.map((unit) => decimalOf(scoreOf(unit.id)));
    const least = decimals.reduce((least, { exponent }) => Math.min(least, exponent), 0);
    const exact = decimals.map(({ digits, exponent }) => digits * 10n ** BigInt(exponent - least));
    // Sorting is stable: ties keep the prompt's order.
    const places = removable.map((_, place) => place);
    places.sort((a, b) => compared(exact[a]!, exact[b]!) * (order === "ascending" ? 1 : -1));
    this.visited = places.map((place) => removable[place]!.id);
    this.scores = places.map((place) => exact[place]!);
    this.total = this.scores.reduce((sum, score) => sum + score, 0n);
    this.share = this.scores.map((score) => ratio(score, this.total));
  }

  /** Return each removable unit's share of their score, in the order in which they are visited. */
  get shares(): readonly number[] {
    return this.share;
  }

  /** Return whether the unit that is visited at a place has a score of 0. */
  isWeightless(place: number): boolean {
    return this.scores[place] === 0n;
  }

  /** Return what λ in [0, 1] removes. */
  removal(factor: number): Removal {
    let removal = this.known.get(factor);
    if (removal === undefined) {
      const walked = new Set(this.removedPlaces(factor).map((place) => this.visited[place]!));
      const items = this.order === "placebo" ? asManyWords(this.drawn, walked) : walked;
      const sum = this.scores.reduce((sum, score, place) => (items.has(this.visited[place]!) ? sum + score : sum), 0n);
      removal = { units: removedWithBlocks(this.units, items), items, share: ratio(sum, this.total) };
      this.known.set(factor, removal);
    }
    return removal;
  }

  /** Return the places, among the visited units, of those that λ removes. */
  private removedPlaces(factor: number): number[] {
    if (factor === 0) return [];
    const { digits, exponent } = decimalOf(factor);
    // Both sides of every comparison are multiplied by the power of ten that makes λ whole.
    const unit = 10n ** BigInt(Math.max(0, -exponent));
    const target = digits * 10n ** BigInt(Math.max(0, exponent)) * this.total;
    if (this.walk === "calm") return this.calmPlaces(unit, target);
    const removed: number[] = [];
    let current = 0n;
    for (const [place, score] of this.scores.entries()) {
      const next = current + score * unit;
      if (next <= target) {
        current = next;
        removed.push(place);
      } else if (this.walk !== "paper") {
        if (this.walk === "nearest" && next - target < target - current) removed.push(place);
        break;
      }
      if (current >= target) break;
    }
    return removed;
  }

  /** Return the places that the calm walk removes: of the first walk that comes near enough to λ, else the nearest. */
  private calmPlaces(unit: bigint, target: bigint): number[] {
    const whole = this.total * unit;
    // A hundred times the least of 0.02, λ / 2 and (1 - λ) / 2 of the whole.
    const tolerance = [2n * whole, 50n * target, 50n * (whole - target)].reduce((a, b) => (a < b ? a : b));
    let nearest: number[] = [];
    let off = target;
    for (let beginning = 0; beginning < this.scores.length; beginning++) {
      const removed: number[] = [];
      let current = 0n;
      for (let place = beginning; place < this.scores.length; place++) {
        const next = current + this.scores[place]! * unit;
        const difference = next < target ? target - next : next - target;
        if (difference < off) {
          nearest = [...removed, place];
          off = difference;
          if (100n * off <= tolerance) return nearest;
        }
        if (next <= target) {
          current = next;
          removed.push(place);
        }
      }
    }
    return nearest;
  }
}

/**
 * Return drawn units with about as many words as those that λ removes: each that fits, and last one that brings the sum
 * nearer to theirs.
 */
export function asManyWords(drawn: readonly DrawnUnit[], removed: ReadonlySet<string>): ReadonlySet<string> {
  if (removed.size === drawn.length) return removed;
  let missing = drawn.reduce((sum, { id, words }) => (removed.has(id) ? sum + words : sum), 0);
  const taken = new Set<string>();
  for (const { id, words } of drawn) {
    if (words === 0 || words > missing) continue;
    taken.add(id);
    missing -= words;
  }
  const off = ({ words }: DrawnUnit) => Math.abs(missing - words);
  const left = drawn.filter(({ id }) => !taken.has(id));
  const last = left.reduce<DrawnUnit | null>((best, unit) => (best && off(best) <= off(unit) ? best : unit), null);
  if (last && off(last) < missing) taken.add(last.id);
  return taken;
}

/** Return the ids of all units that are removed together with these: a block that loses all items loses its texts. */
export function removedWithBlocks(units: readonly PrunedUnit[], chosen: ReadonlySet<string>): Set<string> {
  const remaining = new Set<string>();
  const touched = new Set<string>();
  for (const unit of units) {
    if (chosen.has(unit.id)) touched.add(unit.block);
    else if (unit.kind === "item") remaining.add(unit.block);
  }
  const isRemoved = (unit: PrunedUnit) =>
    chosen.has(unit.id) || (touched.has(unit.block) && !remaining.has(unit.block));
  return new Set(units.filter(isRemoved).map((unit) => unit.id));
}

function compared(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Return a part of a whole as a number in [0, 1]; 0 of nothing. */
function ratio(part: bigint, whole: bigint): number {
  if (whole === 0n) return 0;
  return Number((part * 10n ** 15n + whole / 2n) / whole) / 1e15;
}

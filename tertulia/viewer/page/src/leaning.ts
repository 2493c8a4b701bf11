/** What a line leaned on, as tertulia/reading/leaning.py has it: bars and words. */

export interface Reason {
  readonly unit: string;
  readonly text: string;
  /** What the line loses without the unit, in nats a token; null where that is not known. */
  readonly loss: number | null;
  readonly measured: boolean;
  readonly times_less_likely: number | null;
}

/** A reason with the score of its unit, for where no loss is known. */
export interface Weighed {
  readonly reason: Reason;
  readonly score: number;
}

/** Return the lengths of bars in [0, 1]: by loss or, where none is known, by score. What can't be compared has none. */
export function barsOf(reasons: readonly Weighed[]): number[] {
  const isByLoss = reasons.some(({ reason }) => reason.loss !== null);
  const amounts = reasons.map(({ reason, score }) => (isByLoss ? (reason.loss ?? 0) : score));
  const highest = Math.max(...amounts) || 1;
  return amounts.map((amount) => amount / highest);
}

/** Return how much a line leaned on a unit: how many times less likely it is without it, else the line's attention. */
export function reasonInWords({ reason, score }: Weighed): string {
  if (reason.times_less_likely === null) return `attention ${score.toFixed(3)}`;
  const times = timesInWords(reason.times_less_likely);
  const isAbout = !reason.measured && !times.startsWith("over");
  return `${isAbout ? "about " : ""}${times} less likely without it, as ${reason.measured ? "measured" : "estimated"}`;
}

/** Return `1.4 times`, `9 times`, `120 times`, `over 1,000 times`, as tertulia/reading/why_words.py does. */
export function timesInWords(factor: number): string {
  if (factor > 1000) return "over 1,000 times";
  const rounded = factor < 3 ? factor.toFixed(1).replace(/\.0$/, "") : Math.round(Number(factor.toPrecision(2))).toLocaleString("en");
  return `${rounded} times`;
}

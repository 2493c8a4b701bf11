/** Places along the simulated clock. */

/** A stretch of the clock, in seconds from the start of the conversation. */
export interface Span {
  readonly sim_time_s: number;
  readonly duration_s: number;
}

/** Steps between two marks of the axis, in seconds. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** Return where a conversation ends, in seconds; never 0. */
export function endOf(spans: readonly Span[]): number {
  const last = spans.at(-1);
  return Math.max(1, last ? last.sim_time_s + last.duration_s : 0);
}

/** Return the end of a span; the next one cuts it off, as the first turn cuts off how a meeting opened. */
export function spanEnd(spans: readonly Span[], index: number): number {
  const span = spans[index]!;
  const next = spans[index + 1];
  return Math.min(span.sim_time_s + span.duration_s, next && next.sim_time_s > span.sim_time_s ? next.sim_time_s : Infinity);
}

/** Return the index of the last span that has begun at a time; -1: none has. */
export function begunAt(spans: readonly Span[], seconds: number): number {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle]!.sim_time_s <= seconds) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Return the first and last index of the spans that a stretch of the clock shows, with one more at each side. */
export function within(spans: readonly Span[], from: number, to: number): readonly [number, number] {
  return [Math.max(0, begunAt(spans, from) - 1), Math.min(spans.length - 1, begunAt(spans, to) + 1)];
}

/** Return the index of the span at a time, or of the nearest one. */
export function nearest(spans: readonly Span[], seconds: number): number {
  const before = begunAt(spans, seconds);
  if (before < 0) return 0;
  const next = spans[before + 1];
  if (!next || seconds <= spanEnd(spans, before)) return before;
  return seconds - spanEnd(spans, before) <= next.sim_time_s - seconds ? before : before + 1;
}

/** Return the times of the marks of an axis that shows a stretch of the clock, and the seconds between two of them. */
export function marks(from: number, to: number, pixelsPerSecond: number, apart: number): { step: number; at: number[] } {
  const step = STEPS.find((step) => step * pixelsPerSecond >= apart) ?? Math.ceil(apart / pixelsPerSecond / 86400) * 86400;
  const at: number[] = [];
  for (let time = Math.max(0, Math.ceil(from / step)) * step; time <= to; time += step) at.push(time);
  return { step, at };
}

/** Return the time of day after so many seconds, `15:04` or `15:04:30`; the start is a local time in ISO 8601. */
export function timeOfDay(begins: string, seconds: number, hasSeconds: boolean): string {
  const start = Date.parse(`${begins.slice(0, 19)}Z`);
  if (Number.isNaN(start)) return "";
  return new Date(start + seconds * 1000).toISOString().slice(11, hasSeconds ? 19 : 16);
}

/** The distribution that a latency is drawn from, as nodes/meeting/latency.py has it. Source: ChatAgents App. B, Eq. 6. */

/** What a latency is drawn with; times in seconds. */
export interface Draw {
  readonly latency_scale_s: number;
  readonly latency_spread_s: number;
  readonly persistence: number;
  /** Added to the draw, for who waits for somebody who was asked. */
  readonly yielded_s: number;
}

export type Form = "as_printed" | "moment_matched";

/** Return log-mean and log-deviation of the draw, before it is multiplied by the persistence. */
export function logMoments({ latency_scale_s: scale, latency_spread_s: spread }: Draw, form: Form): readonly [number, number] {
  const variance = Math.log1p((spread / scale) ** 2);
  return [Math.log(scale) - (form === "moment_matched" ? variance / 2 : 0), Math.sqrt(variance)];
}

/** Return the density of the latency at a time; 0 before the earliest, and everywhere where nothing is drawn by chance. */
export function density(seconds: number, draw: Draw, form: Form): number {
  const [mean, deviation] = logMoments(draw, form);
  const drawn = (seconds - draw.yielded_s) / draw.persistence;
  if (drawn <= 0 || deviation === 0) return 0;
  const distance = (Math.log(drawn) - mean) / deviation;
  return Math.exp(-(distance ** 2) / 2) / (drawn * deviation * Math.sqrt(2 * Math.PI)) / draw.persistence;
}

/** Return a time by which most latencies are over: so many log-deviations behind the log-mean. */
export function late(draw: Draw, form: Form, deviations = 2): number {
  const [mean, deviation] = logMoments(draw, form);
  return draw.yielded_s + draw.persistence * Math.exp(mean + deviations * deviation);
}

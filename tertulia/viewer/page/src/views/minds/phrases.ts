/** A round in words, as the commands tell it (tertulia/wording/round_phrases.py). */

import { besides, inWords, isolated, listed, number } from "../../format";
import type { Floor, Mind, MindParameters } from "./documents";

/** Return what an agent noticed, and why, or why not. */
export function perceptionInWords({ perception }: Mind, parameters: MindParameters): string {
  const { turn, relevance, noticed, named, reason, importance } = perception;
  if (turn === null) return "nothing yet: came after it was said";
  const what = turn ? `turn ${turn}` : "how it opened";
  if (!noticed) return `did not notice ${what}: relevance ${besides(relevance, parameters.perception_threshold)}, below ${parameters.perception_threshold}`;
  const why = named && (reason === null || reason === "named") ? "called by name" : reason;
  return `noticed ${what}: relevance ${number(relevance)}, importance ${number(importance, 1)}${why ? `, ${why}` : ""}`;
}

/** Return how an agent stood to the floor in this round. */
export function outcomeInWords(mind: Mind, winner: Mind | undefined, parameters: MindParameters, floor?: Floor | null): string {
  if (mind.willing === null) return "made no bid: the round was interrupted";
  if (mind.won) return "got the floor";
  if (floor?.gone.includes(mind.agent)) return "had to leave";
  if (mind.typed !== null && !mind.willing) return "stayed silent";
  if (mind.latency_s !== null) {
    const behind = winner?.latency_s === null || winner?.latency_s === undefined ? null : mind.latency_s - winner.latency_s;
    if (behind === null) return `would have begun after ${besides(mind.latency_s + ((floor?.looks ?? 1) - 1) * parameters.reevaluation_s, parameters.silence_s)} s`;
    return behind >= 0 ? `${besides(behind, 0)} s too late` : `${besides(-behind, 0)} s faster, and lost the draw`;
  }
  if (mind.willing) return "willing, not asked";
  if (mind.willingness === null) return "was not asked";
  return `not willing: ${besides(mind.willingness, parameters.willingness_threshold)} < threshold ${parameters.willingness_threshold}`;
}

/** Return why a latency is what it is; `null` for who did not race. */
export function latencyInWords(mind: Mind, parameters: MindParameters): string | null {
  if (mind.latency_s === null) return null;
  if (mind.willingness_parts === null && parameters.seat_clock === "runs") return "as long as they took";
  const parts = [`scale ${number(mind.latency_scale_s)} s, spread ${number(mind.latency_spread_s)} s`];
  if (mind.similarity) parts.push(`thought goes on from before: ${number(mind.similarity)}`);
  if (mind.persistence !== null && mind.persistence < 1) parts.push(`unheard before: × ${mind.persistence}`);
  if (mind.yielded_s) parts.push(`waited ${mind.yielded_s} s for who was asked`);
  return parts.join(", ");
}

const ORDERS: Readonly<Record<string, string>> = {
  self_driven: "Self driven: the willing race, and the fastest speaks",
  rule_based: "Rule based: a rule gives the floor",
  centralised: "Centralised: a moderator gives the floor",
  random: "Random: the floor is drawn",
  designated: "Designated: who spoke last names who is next",
};

/** Return who gave the floor, why, and when; or why nobody has it. */
export function floorInWords(floor: Floor | null | undefined, minds: readonly Mind[], parameters: MindParameters): string {
  if (!floor) return "The floor was not given: the round was interrupted.";
  const parts = [ORDERS[floor.order] ?? inWords(floor.order)];
  if (floor.reason) {
    const why = `${isolated(floor.reason)}${floor.drawn ? ": drawn" : ""}`;
    parts.push(floor.gone.length ? `first ${isolated(floor.gone[0]!)} (${why})` : why);
  }
  if (floor.looks > 1) parts.push(`willingness was looked at ${floor.looks} times, every ${parameters.reevaluation_s} s`);
  if (floor.gone.length) parts.push(`${listed(floor.gone)} had to leave before that`);
  if (floor.tied.length) parts.push(`a tie of ${listed(floor.tied)} was drawn`);
  if (floor.waited_s !== null) return `${[...parts, `first word after ${number(floor.waited_s)} s`].join("; ")}.`;
  const latencies = minds.flatMap(({ agent, latency_s }) => (latency_s === null || floor.gone.includes(agent) ? [] : [latency_s]));
  const first = (floor.looks - 1) * parameters.reevaluation_s + Math.min(...latencies);
  if (latencies.length) parts.push(`the first word would have come after ${besides(first, parameters.silence_s)} s`);
  else if (!floor.gone.length) parts.push("nobody was willing");
  return `${[...parts, `${parameters.silence_s} seconds of silence`].join("; ")}.`;
}

/** What the judge found of candidates, and why one of them was said, in words. */

import { besides, counted } from "../../format";
import type { Candidate, Making } from "../turn_documents";

/** Return what drafts are weighed by, and a candidate's `information` is. */
export function measureInWords({ context_strength }: Making): string {
  return context_strength ? "information shared with the prompt" : "mean log-probability";
}

/** Return a figure of a judge: ratings have two digits behind the point, likelihoods three, or what tells it from another. */
export function figure(value: number | null, beside: number | null = null): string {
  return besides(value, beside, value !== null && Math.abs(value) < 1 ? 3 : 2).replace("-", "−");
}

/** Return who judged the candidates and what came of it, or why nobody did. */
export function judgedInWords(making: Making): string {
  if (!making.judged_by) {
    if (making.prompt === null) return "Written by hand, so not judged.";
    if (making.judge === "off") return "Not judged (judge=off).";
    const isPruned = making.units.some(({ removed }) => removed);
    return isPruned ? "Not judged." : "Not judged: nothing was removed, so there is nothing to contradict.";
  }
  const rewritten = making.rewritings ? `, ${making.rewritings} rewritten` : "";
  const off = making.revision === "off" ? " (revision=off: nothing is revised)" : "";
  const back = making.rollbacks ? " The next was read from the same prompt: nothing was put back into it." : "";
  return `Judged: ${making.judged_by}; conflict above the threshold ${figure(making.threshold)}; ${making.rollbacks} rolled back${rewritten}${off}.${back}`;
}

/** Return what a candidate is called, by its place among those that were not vetoed. */
export function titleOf({ attempt, origin }: Candidate, making: Making): string {
  if (origin === "vetoed") return "Draft";
  if (origin === "by_hand") return "A person's words";
  return `Candidate ${making.candidates.filter((other) => other.origin !== "vetoed" && other.attempt <= attempt).length}`;
}

/** Return why a candidate was said, or not. */
export function fateOf(candidate: Candidate, making: Making): string {
  const { threshold } = making;
  if (candidate.origin === "by_hand") return "";
  if (candidate.origin === "vetoed") return "drawn again before it was judged";
  if (candidate.inconsistency === null) return making.judged_by ? "not judged: an earlier candidate was said" : "";
  if (threshold === null) return "";
  const isConflict = candidate.inconsistency > threshold;
  if (!candidate.chosen) return isConflict ? "above the threshold: set aside" : "not above the threshold, but another was said";
  if (!isConflict) return making.rollbacks ? `not above the threshold, after ${counted(making.rollbacks, "rollback")}` : "not above the threshold";
  const others = making.candidates.filter((other) => other.attempt !== candidate.attempt && other.inconsistency !== null);
  if (!others.length) return "above the threshold, but there was no other candidate";
  const isTied = others.some((other) => other.inconsistency === candidate.inconsistency);
  return `all that were judged are above the threshold; ${isTied ? "no other has a lower" : "this one has the lowest"} inconsistency`;
}

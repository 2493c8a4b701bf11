/** What λ removes from a prompt in words, as tertulia/reading/removal.py has it. */

import { besides, lambda } from "../../format";
import type { Pruning, Removal, Walk } from "../../pruning";
import type { Making, Unit } from "../turn_documents";

/** The share of the removable weight from which a unit that is passed over has most of it. */
const MOST = 0.5;
const QUOTED = 40;

/** Return what is removed from the prompt, in a sentence. */
export function removalInWords(making: Making, removal: Removal, removable: number, whatIf: number | null): string {
  const { factor, retained, whole } = making.removal;
  const gone = removal.items.size;
  const texts = removal.units.size - gone;
  const emptied = texts ? `, and ${texts} ${texts === 1 ? "text" : "texts"} of blocks that lost all items` : "";
  let why = `at λ = ${whatIf === null ? lambda(making.removal_factor) : whatIf}`;
  if (retained !== null && factor === null) {
    if (whatIf !== null) why += `, were ${retained} not retained`;
    else why = gone < removable ? `but ${retained}` : `(this prompt has no ${retained.split(" of ").pop()} to retain one of)`;
  }
  return (
    `${gone} of ${removable} removable items ${whatIf === null ? "were" : "would be"} removed ${why}: ` +
    `${(removal.share * 100).toFixed(1)} % of their ${whole}${emptied}.`
  );
}

/** Return what a reader should know of a removal that is not what λ seems to ask. */
export function remarksOn(
  units: ReadonlyMap<string, Unit>, pruning: Pruning, removal: Removal, factor: number, walk: Walk, order: string,
): string[] {
  const { visited, shares } = pruning;
  if (!factor || !visited.length) return [];
  const remarks: string[] = [];
  const byScore = order !== "placebo";
  const heaviest = order === "ascending" ? visited.length - 1 : 0;
  const share = shares[heaviest]!;
  if (byScore && share > MOST && !removal.items.has(visited[heaviest]!)) {
    remarks.push(
      `One unit holds ${(share * 100).toFixed(0)} % of the removable weight ` +
        `(${quoted(units.get(visited[heaviest]!)!.text)}): ${whyItStays(share, walk, order)}`,
    );
  }
  if (!removal.items.size) {
    const isHeaviest = (walk === "first_overshoot" || walk === "nearest") && order !== "ascending";
    const weight = isHeaviest ? Math.max(...shares) : Math.min(...shares);
    remarks.push(
      `Nothing fits under λ = ${factor}, as the ${isHeaviest ? "heaviest" : "lightest"} of ${visited.length} removable ` +
        `items has ${besides(weight * 100, factor * 100, 1)} % of their weight` +
        `${isHeaviest ? ", where this walk begins and stops" : ""}: nothing is removed`,
    );
  }
  const zero = visited.filter((id, place) => pruning.isWeightless(place) && !removal.items.has(id)).length;
  if (byScore && factor === 1 && zero) {
    remarks.push(
      `${zero} removable ${zero === 1 ? "item has" : "items have"} a score of 0 and ${zero === 1 ? "stays" : "stay"} at ` +
        "λ = 1: Algorithm 1 stops once the target is reached",
    );
  }
  return remarks;
}

/** Return why the heaviest unit stays, and the least λ of two digits that takes it if it comes first. */
function whyItStays(share: number, walk: Walk, order: string): string {
  if (walk === "calm") return "it goes where that comes nearer to λ";
  if (order === "ascending") return "it comes last";
  const steps = Array.from({ length: 101 }, (_, step) => step / 100);
  const least = steps.find((at) => (walk === "nearest" ? at > share / 2 : at >= share));
  return `${walk === "paper" ? "λ passes over it" : "the walk stops at it"}, and takes it from λ = ${least} on`;
}

function quoted(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return `“${line.length <= QUOTED ? line : `${line.slice(0, QUOTED - 1).trimEnd()}…`}”`;
}

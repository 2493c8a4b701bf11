import { expect, test } from "vitest";
import { type Order, Pruning, type Walk } from "../../pruning";
import type { Unit } from "../turn_documents";
import { remarksOn } from "./removal_words";

/** The remarks on what a λ removes of items with these scores. */
function remarks(scores: readonly number[], factor: number, walk: Walk = "paper", order: Order = "descending"): string[] {
  const units = scores.map((score, place) => ({
    id: `m${place}`, block: "memory", kind: "item", text: `Item ${place}.`, removable: true, score, line_score: null, removed: false,
  }) satisfies Unit);
  const pruning = new Pruning(units, (id) => scores[Number(id.slice(1))]!, order, walk);
  return remarksOn(new Map(units.map((unit) => [unit.id, unit])), pruning, pruning.removal(factor), factor, walk, order);
}

test("that nothing fits is told, and not whether it was judged", () => {
  expect(remarks([4, 3, 3], 0.2)).toEqual([
    "Nothing fits under λ = 0.2, as the lightest of 3 removable items has 30.0 % of their weight: nothing is removed",
  ]);
});

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

test("the λ that takes a heavy unit is one that does", () => {
  const scores = [65.345, 20, 14.655];
  const stays = (walk?: Walk, order?: Order) => remarks(scores, 0.3, walk, order).find((remark) => remark.startsWith("One unit"))!.split(": ")[1];
  expect(stays()).toBe("λ passes over it, and takes it from λ = 0.66 on");
  expect(remarks(scores, 0.65)).toHaveLength(1);
  expect(remarks(scores, 0.66)).toEqual([]);
  expect(stays("first_overshoot")).toBe("the walk stops at it, and takes it from λ = 0.66 on");
  expect(stays("nearest")).toBe("the walk stops at it, and takes it from λ = 0.33 on");
  expect(remarks(scores, 0.33, "nearest")).toEqual([]);
  expect(stays("paper", "ascending")).toBe("it comes last");
});

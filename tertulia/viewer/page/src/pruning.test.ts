/** Algorithm 1 by hand-made cases; tests/viewer/test_turn.py compares it with the engine on generated ones. */

import { expect, test } from "vitest";
import { decimalOf, type Order, Pruning, type PrunedUnit, removedWithBlocks, type Walk } from "./pruning";

function removed(scores: readonly number[], factor: number, walk: Walk = "paper", order: Order = "descending"): string {
  const units = scores.map((_, place) => ({ id: "abcdefgh"[place]!, block: "memory", kind: "item", removable: true }));
  const scoreOf = new Map(units.map((unit, place) => [unit.id, scores[place]!]));
  return [...new Pruning(units, (id) => scoreOf.get(id)!, order, walk).removal(factor).items].join("");
}

test.each([
  [0.5, "5e-1"],
  [12, "12e0"],
  [1e-7, "1e-7"],
  [5e-324, "5e-324"],
  [1.7976931348623157e308, "17976931348623157e292"],
  [0, "0e0"],
])("the decimal of %s", (value, expected) => {
  const { digits, exponent } = decimalOf(value);
  expect(`${digits}e${exponent}`).toBe(expected);
});

test("a unit that would overshoot is passed over, and lighter ones behind it are taken", () => {
  expect(removed([5, 3, 2, 1], 0.4)).toBe("b" + "d"); // target 4.4
});

test("the other walks end at the unit that would overshoot", () => {
  expect(removed([5, 3, 2, 1], 0.4, "first_overshoot")).toBe("");
  expect(removed([5, 3, 2, 1], 0.4, "nearest")).toBe("a"); // 5 is nearer to 4.4 than 0
  expect(removed([5, 3, 2, 1], 0.2, "nearest")).toBe("");
});

test("the calm walk ends once it is within 0.02 of λ, and else takes what comes nearest", () => {
  expect(removed([50, 30, 11, 8, 1], 0.8, "calm")).toBe("ab");
  expect(removed([50, 29, 11, 8, 2], 0.8, "calm")).toBe("ab"); // 0.79: the paper's walk goes on
  expect(removed([50, 31, 11, 8], 0.8, "calm")).toBe("ab"); // 0.81
  expect(removed([43, 30, 27], 0.57, "calm")).toBe("bc"); // behind the first, which would be 0.14 away
  expect(removed([78, 12, 10], 0.7, "calm")).toBe("a");
  expect(removed([78, 12, 10], 0.3, "calm")).toBe("bc");
  expect(removed([90, 9, 1], 1, "calm")).toBe("abc");
  expect(removed([90, 9, 1], 0.01, "calm")).toBe("c");
  expect(removed([0, 0], 0.5, "calm")).toBe("");
});

test("of two sums that are equally near, the smaller", () => {
  expect(removed([2, 2], 0.25, "nearest")).toBe("");
});

test("ties are visited in prompt order in both directions", () => {
  expect(removed([1, 1, 1, 1], 0.5)).toBe("ab");
  expect(removed([1, 1, 1, 1], 0.5, "paper", "ascending")).toBe("ab");
});

test("sums are exact: ten tenths are one, and nothing stays at λ = 1", () => {
  expect(removed([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], 1)).toBe("abcdefgh");
  expect(removed([0.1, 0.2, 0.3], 0.5, "paper", "ascending")).toBe("ab"); // 0.1 + 0.2 = 0.3, which doubles deny
  expect(removed([1e300, 5e-324], 1)).toBe("ab");
});

test("the walk stops once the target is reached: units without weight stay", () => {
  expect(removed([1, 0, 0], 1)).toBe("a");
  expect(removed([0, 0], 0.5)).toBe("a"); // as the engine has it
  expect(removed([0, 0], 0)).toBe("");
});

test("a placebo removes as many words of drawn units, and the same where λ removes nothing or all", () => {
  const units = [..."abcd"].map((id) => ({ id, block: "memory", kind: "item", removable: true }));
  const drawn = [{ id: "d", words: 11 }, { id: "c", words: 4 }, { id: "b", words: 2 }, { id: "a", words: 5 }];
  const scoreOf = new Map([["a", 4], ["b", 3], ["c", 2], ["d", 1]]);
  const pruning = new Pruning(units, (id) => scoreOf.get(id)!, "placebo", "paper", drawn);
  const removed = (factor: number) => [...pruning.removal(factor).items].sort().join("");
  expect(removed(0)).toBe("");
  expect(removed(0.4)).toBe("c"); // λ removes a, of 5 words: d does not fit, c does, with b the sum is as near
  expect(removed(0.7)).toBe("bc"); // λ removes a and b, of 7 words
  expect(pruning.removal(0.7).share).toBeCloseTo(0.5);
  expect(removed(1)).toBe("abcd");
});

test("a block that loses all items loses its texts, and no other does", () => {
  const units: PrunedUnit[] = [
    { id: "goals.text", block: "goals", kind: "text", removable: false },
    { id: "goals.item", block: "goals", kind: "item", removable: true },
    { id: "memory.text", block: "memory", kind: "text", removable: false },
    { id: "memory.1", block: "memory", kind: "item", removable: true },
    { id: "memory.2", block: "memory", kind: "item", removable: true },
    { id: "task.text", block: "task", kind: "text", removable: false },
  ];
  expect([...removedWithBlocks(units, new Set(["goals.item", "memory.1"]))]).toEqual(["goals.text", "goals.item", "memory.1"]);
  expect([...removedWithBlocks(units, new Set())]).toEqual([]);
});

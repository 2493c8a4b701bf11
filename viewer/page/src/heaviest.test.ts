import { expect, test } from "vitest";
import { heaviestOf } from "./heaviest";

const unit = (id: string, score: number | null, removable = true) => ({ id, score, removable });

test("the heaviest removable units come first, with their shares of what may be removed", () => {
  const units = [unit("a", 1), unit("fixed", 90, false), unit("b", 6), unit("none", null), unit("zero", 0), unit("c", 3)];
  expect(heaviestOf(units, 2).map(({ unit, share }) => [unit.id, share])).toEqual([["b", 0.6], ["c", 0.3]]);
  expect(heaviestOf(units, 9).map(({ unit }) => unit.id)).toEqual(["b", "c", "a"]);
});

test("ties keep the prompt's order, and nothing scored is nothing heavy", () => {
  expect(heaviestOf([unit("a", 1), unit("b", 1)], 3).map(({ unit }) => unit.id)).toEqual(["a", "b"]);
  expect(heaviestOf([unit("a", 0), unit("b", null)], 3)).toEqual([]);
});

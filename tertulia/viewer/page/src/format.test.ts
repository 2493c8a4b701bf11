import { expect, test } from "vitest";
import { asSentence, besides, margin } from "./format";

test("a sentence has a capital and a full stop, and λ stays small", () => {
  expect(asSentence("λ = 0.5 was asked for, and 0.376 reached")).toBe("λ = 0.5 was asked for, and 0.376 reached.");
  expect(asSentence("one unit holds 62 %")).toBe("One unit holds 62 %.");
  expect(asSentence("Nothing fits.")).toBe("Nothing fits.");
});

test("a margin has one sign", () => {
  expect([0.211, -0.07, 0].map(margin)).toEqual(["+0.21", "−0.07", "+0.00"]);
});

test("a number is not read as the one beside it", () => {
  expect([[0.25, 0.5], [0.4992, 0.5], [0.5003, 0.5], [0.5, 0.5], [null, 0.5]].map(([a, b]) => besides(a, b))).toEqual(["0.25", "0.499", "0.5003", "0.50", "–"]);
  expect(besides(20.04, 20, 1)).toBe("20.04");
});

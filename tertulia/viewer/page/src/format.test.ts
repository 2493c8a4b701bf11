import { expect, test } from "vitest";
import { asSentence, margin } from "./format";

test("a sentence has a capital and a full stop, and λ stays small", () => {
  expect(asSentence("λ = 0.5 was asked for, and 0.376 reached")).toBe("λ = 0.5 was asked for, and 0.376 reached.");
  expect(asSentence("one unit holds 62 %")).toBe("One unit holds 62 %.");
  expect(asSentence("Nothing fits.")).toBe("Nothing fits.");
});

test("a margin has one sign", () => {
  expect([0.211, -0.07, 0].map(margin)).toEqual(["+0.21", "−0.07", "+0.00"]);
});

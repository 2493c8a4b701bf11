import { expect, test } from "vitest";
import { asSentence } from "./format";

test("a sentence has a capital and a full stop, and λ stays small", () => {
  expect(asSentence("λ = 0.5 was asked for, and 0.376 reached")).toBe("λ = 0.5 was asked for, and 0.376 reached.");
  expect(asSentence("one unit holds 62 %")).toBe("One unit holds 62 %.");
  expect(asSentence("Nothing fits.")).toBe("Nothing fits.");
});

import { expect, test } from "vitest";
import type { Axis } from "./documents";
import { lineName } from "./points";

const axis: Axis = { parameter: "removal_factor", values: {}, series: {} };
const named = (label: string, ...settings: string[]) => lineName({ label, settings, isControl: false }, axis);

test("a line is called as its settings are", () => {
  expect(named("", "Full", "λ=0.5")).toBe("λ alone");
  expect(named("removal_order=placebo", "placebo 0.5", "placebo 0.75")).toBe("placebo");
  expect(named("removal_order=placebo", "others' items")).toBe("others' items");
});

test("settings without a name in common are called by what they have besides", () => {
  expect(named("removal_order=placebo", "a", "b")).toBe("removal order: placebo");
});

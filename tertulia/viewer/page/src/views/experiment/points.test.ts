import { expect, test } from "vitest";
import type { Axis } from "./documents";
import { extentOf, lineName, type Mark } from "./points";

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

test("an axis goes below 0 or beyond 1 only where a value or an interval does", () => {
  const mark = (value: number, high: number) => ({ value, low: value - 0.1, high }) as unknown as Mark;
  expect(extentOf([mark(0.97, 0.99), mark(0.5, 0.6)])![1]).toBe(1);
  expect(extentOf([mark(0.97, 1.02)])![1]).toBeGreaterThan(1.02);
  expect(extentOf([mark(0.1, 0.2), mark(0.9, 0.95)])![0]).toBe(0);
  expect(extentOf([mark(-0.1, 0.1)])![0]).toBeLessThan(-0.1);
});

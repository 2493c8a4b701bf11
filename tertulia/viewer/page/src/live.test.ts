import { expect, it, vi } from "vitest";

vi.mock("./source", () => ({ source: { isFile: true } }));
const { merged } = await import("./live");

const turn = (turn: number, text = `turn ${turn}`) => ({ turn, text });

it("shows a turn that is read again once, as it is now", () => {
  const held = [turn(0), turn(1), turn(2, "half of it")];
  expect(merged(held, [turn(2), turn(3)])).toEqual([turn(0), turn(1), turn(2), turn(3)]);
  expect(merged(held, [])).toBe(held);
  expect(merged([], [turn(1)])).toEqual([turn(1)]);
});

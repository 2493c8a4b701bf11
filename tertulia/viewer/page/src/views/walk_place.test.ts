import { expect, test } from "vitest";
import { meet } from "./walk_place";

const box = (left: number, top: number, width: number, height: number) => ({ left, top, right: left + width, bottom: top + height });

test("boxes meet where they overlap or are closer than asked", () => {
  expect(meet(box(0, 0, 100, 100), box(50, 50, 10, 10), 0)).toBe(true);
  expect(meet(box(0, 0, 100, 100), box(0, 100, 100, 10), 0)).toBe(false);
  expect(meet(box(0, 0, 100, 100), box(0, 110, 100, 10), 12)).toBe(true);
  expect(meet(box(0, 0, 100, 100), box(120, 0, 100, 100), 12)).toBe(false);
});

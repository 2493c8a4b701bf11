import { expect, it } from "vitest";
import { matching, patternOf } from "./search";

const turn = (text: string, speaker: string | null = "Ana") => ({ text, speaker });

it("finds a term as it is written, whatever its case, in words and names", () => {
  const turns = [turn("The crane (again)."), turn("Nothing.", "CRANE"), turn("A cr.ne"), turn("", null)];
  expect(matching(turns, " crane ")).toEqual([0, 1]);
  expect(matching(turns, "(AGAIN).")).toEqual([0]);
  expect(matching(turns, "cr.ne")).toEqual([2]);
  expect(matching([{ ...turn("?"), exchange: { answer: "the pier", answerer: "Bo" } }], "PIER")).toEqual([0]);
  expect(matching(turns, "  ")).toEqual([]);
});

it("takes every sign as itself", () => {
  for (const sign of "\\^$.*+?()[]{}|/-&~#@!%`'\"<>=:;, _0é漢\u202e😀") {
    if (sign.trim()) expect(`a${sign}b`.match(patternOf(sign)!)).toEqual([sign]);
  }
});

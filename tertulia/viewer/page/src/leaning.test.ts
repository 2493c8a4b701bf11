import { expect, test } from "vitest";
import { barsOf, reasonInWords, timesInWords, type Weighed } from "./leaning";

function weighed(loss: number | null, score: number, measured = false): Weighed {
  const times_less_likely = loss === null ? null : Math.exp(loss * 10);
  return { reason: { unit: "a", text: "- a", loss, measured, times_less_likely }, score };
}

test("bars are as long as losses, else as scores, and what can't be compared has none", () => {
  expect(barsOf([weighed(0.8, 0.1), weighed(0.2, 0.9)])).toEqual([1, 0.25]);
  expect(barsOf([weighed(null, 0.04), weighed(null, 0.01)])).toEqual([1, 0.25]);
  expect(barsOf([weighed(0.8, 0.01, true), weighed(null, 9)])).toEqual([1, 0]);
  expect(barsOf([])).toEqual([]);
});

test.each([[1.44, "1.4 times"], [2.96, "3 times"], [9.2, "9 times"], [51.8, "52 times"], [494, "490 times"], [1000, "1,000 times"], [1e9, "over 1,000 times"]])(
  "%d is told as in the sentence above a turn", (factor, words) => expect(timesInWords(factor)).toBe(words),
);

test("an estimate is about so much, a measurement is said to be one, and attention is called attention", () => {
  expect(reasonInWords(weighed(Math.log(52) / 10, 1))).toBe("about 52 times less likely without it, as estimated");
  expect(reasonInWords(weighed(Math.log(52) / 10, 1, true))).toBe("52 times less likely without it, as measured");
  expect(reasonInWords(weighed(5, 1))).toBe("over 1,000 times less likely without it, as estimated");
  expect(reasonInWords(weighed(null, 0.0412))).toBe("attention 0.041");
});

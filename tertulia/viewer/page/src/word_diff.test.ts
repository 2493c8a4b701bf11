import { expect, test } from "vitest";
import { wordDiff } from "./word_diff";

const marked = (pieces: readonly { text: string; isShared: boolean }[]) =>
  pieces.map(({ text, isShared }) => (isShared ? text : `[${text}]`)).join("");

test("words that stand in one text alone are marked", () => {
  const [a, b] = wordDiff("It's a mess, but it's fine.", "It's a great mess, but fine, too.");
  expect(marked(a)).toBe("It's a mess, but [it's fine.]");
  expect(marked(b)).toBe("It's a [great ]mess, but [fine, too.]");
});

test("equal texts share all, empty ones nothing", () => {
  expect(wordDiff("the same  words", "the same  words").map(marked)).toEqual(["the same  words", "the same  words"]);
  expect(wordDiff("", "all new").map(marked)).toEqual(["", "[all new]"]);
});

test("scripts without spaces are cut into words", () => {
  const [a, b] = wordDiff("我喜欢市场", "我喜欢学校");
  expect(marked(a)).toBe("我喜欢[市场]");
  expect(marked(b)).toBe("我喜欢[学校]");
});

test("pieces are the texts, the shared ones of both the same, also of texts too long to be aligned", () => {
  let seed = 7;
  const word = () => `w${(seed = (seed * 48271) % 2147483647) % 9}`;
  for (const length of [0, 1, 5, 40, 3000]) {
    const [a, b] = [Array.from({ length }, word).join(" "), Array.from({ length: length + 3 }, word).join(" ")];
    const [left, right] = wordDiff(a, b);
    expect(left.map(({ text }) => text).join("")).toBe(a);
    expect(right.map(({ text }) => text).join("")).toBe(b);
    const shared = (pieces: typeof left) => pieces.filter(({ isShared }) => isShared).map(({ text }) => text.trim()).join(" ");
    expect(shared(left)).toBe(shared(right));
  }
});

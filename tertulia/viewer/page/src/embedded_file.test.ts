import { describe, expect, it } from "vitest";
import { resolve } from "./embedded_file";

const firsts = [0, 2, 5];
const chunks: [number, unknown[]][] = [
  [0, ["a long text", ["~0", "short", "~~1"]]],
  [1, [{ "~1": "~1", score: 0.25 }, "~~", null]],
  [2, [["~2", "~2", "~0"]]],
];

function read(number: number, known: [number, unknown[]][]) {
  const wanted = new Set<number>();
  return { value: resolve(number, firsts, new Map(known), wanted), wanted: [...wanted] };
}

describe("a value of an exported file", () => {
  it("has what it refers to in its place, and texts that look like a reference as they were", () => {
    const line = ["a long text", "short", "~1"];
    expect(read(1, chunks)).toEqual({ value: line, wanted: [] });
    expect(read(2, chunks).value).toEqual({ "~1": line, score: 0.25 });
    expect(read(3, chunks).value).toBe("~");
    expect(read(4, chunks).value).toBe(null);
    expect(read(5, chunks).value).toEqual([{ "~1": line, score: 0.25 }, { "~1": line, score: 0.25 }, "a long text"]);
  });

  it("names the chunks that it needs besides those that are there", () => {
    expect(read(5, []).wanted).toEqual([2]);
    expect(read(5, chunks.slice(2)).wanted).toEqual([1, 0]);
    expect(read(5, chunks.slice(1)).wanted).toEqual([0]);
  });
});

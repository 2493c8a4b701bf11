import { expect, test } from "vitest";
import { Pruning } from "../../pruning";
import type { Making, Unit } from "../turn_documents";
import { byWeight, shadingByLambda, shadingByLine } from "./shading";

function unit(id: string, line_score: number | null, more: Partial<Unit> = {}): Unit {
  return { id, block: "memory", kind: "item", text: id, removable: true, score: 1, removed: false, line_score, ...more };
}

const UNITS = [unit("name", null, { removable: false }), unit("small", 0.02), unit("gone", null, { removed: true }), unit("most", 0.8), unit("less", -0.01)];

function making(units: readonly Unit[], line_scored_by: string, measured = {}): Making {
  return { units, line_scored_by, measured } as unknown as Making;
}

test("what a line leaned on stands first, then what was removed, which has neither figure nor shade", () => {
  const shading = shadingByLine(making(UNITS, "m, learned heads 12ab"), false)!;
  expect(byWeight(UNITS, shading).map(({ id }) => id)).toEqual(["most", "small", "less", "gone", "name"]);
  expect(UNITS.map((each) => shading.figuresOf(each)[0]!.texts[0])).toEqual(["fixed", "0.020", "–", "0.800", "−0.010"]);
  expect(UNITS.map((each) => shading.figuresOf(each)[0]!.heat > 0)).toEqual([false, false, false, true, false]);
  expect([shading.caption.startsWith("Nats a token"), shading.isInNats]).toEqual([true, true]);
});

test("a line that leaned on nothing in particular has neither shades nor bars", () => {
  const units = [unit("a", 0.08), unit("b", 0.02)];
  const shading = shadingByLine(making(units, "m, learned heads 12ab"), false)!;
  expect(units.map((each) => shading.figuresOf(each)[0])).toEqual([{ texts: ["0.080"], bar: 0, heat: 0 }, { texts: ["0.020"], bar: 0, heat: 0 }]);
});

test("texts that go with the items of their block are not among what λ never removes", () => {
  const text = unit("This is Ada.", null, { removable: false, kind: "text", removed: true });
  const task = unit("Answer.", null, { removable: false, kind: "text", block: "task" });
  const units = [task, text, unit("a", null, { removed: true })];
  const scores = { "This is Ada.": 1, "Answer.": 1, a: 1 };
  const pruning = new Pruning(units, () => 1, "descending", "paper");
  const byLambda = shadingByLambda(units, [{ scored_by: "m", run: "r", turn: 1, scores }], [pruning], "m")!;
  const byLine = shadingByLine(making([...units, unit("b", 0.2, { block: "environment" })], "m, learned heads 12ab"), false)!;
  for (const shading of [byLambda, byLine]) {
    expect([task, text].map(shading.groupOf)).toEqual(["What λ never removes", "Texts that go once their block has lost all items"]);
    expect(shading.figuresOf(text)[0]!.texts[0]).not.toBe("fixed");
  }
});

test.each([
  ["m, learned heads 12ab", "0.050", "measured"],
  ["m, attention beyond a neutral reply's", "0.800", "measured: 0.050 nats a token"],
])("a measurement counts instead of an estimate, and stands beside what is none: %s", (scorer, text, mark) => {
  const shading = shadingByLine(making(UNITS, scorer, { most: 0.05 }), false)!;
  expect([shading.figuresOf(UNITS[3]!)[0]!.texts, shading.markOf(UNITS[3]!), shading.markOf(UNITS[1]!)]).toEqual([[text], mark, ""]);
});

test("nothing is said of a line that nobody scored, and random numbers are called that", () => {
  expect(shadingByLine(making([unit("a", null)], ""), false)).toBeNull();
  expect(shadingByLine(making(UNITS, "rehearsal"), true)!.caption).toMatch("Random numbers");
});

test("the scores of λ are called by their scorer, and never shade what λ can't remove", () => {
  const scores = { name: 5, small: 1, gone: 3, most: 0, less: 0 };
  const shadingBy = (...names: string[]) => shadingByLambda(
    UNITS, names.map((scored_by) => ({ scored_by, run: "r", turn: 1, scores })),
    names.map(() => new Pruning(UNITS, (id) => scores[id as keyof typeof scores], "descending", "paper")), "m",
  )!;
  const shading = shadingBy("m, layers 1, 2 of 9");
  expect(byWeight(UNITS, shading).map(({ id }) => id)).toEqual(["gone", "small", "most", "less", "name"]);
  expect(shading.figuresOf(UNITS[0]!)[0]).toMatchObject({ texts: ["fixed", "5.000"], bar: 1, heat: 0 });
  expect(shading.figuresOf(UNITS[2]!)[0]).toMatchObject({ texts: ["75.0 %", "3.000"], heat: 1 });
  expect(shading.caption).toMatch("from possible replies");
  expect(shadingBy("embedding_similarity").caption).toMatch("by embedding_similarity");
  expect(shadingBy("m", "n").figuresOf(UNITS[1]!)).toHaveLength(2);
  expect(shadingByLambda([], [], [], "m")).toBeNull();
});

test("what a line leaned on stands among its reasons, whether λ may remove it or not", () => {
  const thought = unit("thought", 0.5, { removable: false, kind: "text" });
  const shading = shadingByLine(making([...UNITS, thought], "m, learned heads 12ab"), false)!;
  expect(shading.groupOf(thought)).toBe(shading.groupOf(UNITS[1]!));
  expect(shading.groupOf(UNITS[0]!)).toBe("What λ never removes");
});

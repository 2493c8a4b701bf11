import { expect, test } from "vitest";
import type { Candidate, Making } from "../turn_documents";
import { fateOf, figure, judgedInWords, measureInWords, titleOf } from "./candidate_words";

function making(more: Partial<Making>): Making {
  const unjudged = { prompt: "ab12", judge: "rating", judged_by: null, units: [], candidates: [], rollbacks: 0, threshold: 6.67 };
  return { ...unjudged, ...more } as unknown as Making;
}

const REMOVED = [{ id: "memory.1", removed: true }] as unknown as Making["units"];

test("the figure of a draft is called what it is", () => {
  expect(measureInWords(making({ context_strength: 0 }))).toBe("mean log-probability");
  expect(measureInWords(making({ context_strength: 1 }))).toBe("information shared with the prompt");
});

test("why nobody judged a line", () => {
  expect(judgedInWords(making({}))).toBe("Not judged: nothing was removed, so there is nothing to contradict.");
  expect(judgedInWords(making({ judge: "off", units: REMOVED }))).toBe("Not judged (judge=off).");
  expect(judgedInWords(making({ units: REMOVED }))).toBe("Not judged.");
  expect(judgedInWords(making({ prompt: null }))).toBe("Written by hand, so not judged.");
});

test("a rewritten candidate is counted by its place, not by its attempt", () => {
  const made = (["drawn", "rewritten", "vetoed", "by_hand"] as const).map((origin, place) => ({ origin, attempt: [0, 6, 1000, 2000][place] }));
  const of = making({ candidates: made as unknown as readonly Candidate[] });
  expect(of.candidates.map((candidate) => titleOf(candidate, of))).toEqual(["Candidate 1", "Candidate 2", "Draft", "A person's words"]);
});

test("a figure above the threshold is not rounded to it", () => {
  expect([figure(6.672, 6.67), figure(6.67, 6.672), figure(6.672), figure(-0.05)]).toEqual(["6.672", "6.670", "6.67", "−0.050"]);
});

test("of candidates with the same figure none has the lowest", () => {
  const [said, tied, worse] = [5, 5, 7].map((inconsistency, attempt) => ({ attempt, origin: "drawn", inconsistency, chosen: attempt === 0 })) as unknown as Candidate[];
  const fate = (...candidates: readonly Candidate[]) => fateOf(said!, making({ candidates, threshold: 4, judged_by: "rating by m" }));
  expect(fate(said!, tied!, worse!)).toBe("all that were judged are above the threshold; no other has a lower inconsistency");
  expect(fate(said!, worse!)).toBe("all that were judged are above the threshold; this one has the lowest inconsistency");
  expect(fate(said!)).toBe("above the threshold, but there was no other candidate");
});

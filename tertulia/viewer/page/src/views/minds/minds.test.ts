import { describe, expect, it } from "vitest";
import { type Mind, mindParameters } from "./documents";
import { density, type Draw, late, logMoments } from "./latency";
import { floorInWords, latencyInWords, perceptionInWords, outcomeInWords } from "./phrases";

const DRAW: Draw = { latency_scale_s: 2, latency_spread_s: 1, persistence: 0.7, yielded_s: 5 };

/** Integrate over everything that a latency may be. */
function integrate(of: (seconds: number) => number, draw: Draw): number {
  const [steps, width] = [200_000, 60];
  let sum = 0;
  for (let i = 0; i < steps; i++) sum += of(draw.yielded_s + ((i + 0.5) * width) / steps) * (width / steps);
  return sum;
}

describe("the distribution of a latency", () => {
  it("is one, and lies where persistence and waiting put it", () => {
    for (const form of ["as_printed", "moment_matched"] as const) {
      expect(integrate((seconds) => density(seconds, DRAW, form), DRAW)).toBeCloseTo(1, 4);
      const [mean, deviation] = logMoments(DRAW, form);
      const expected = 5 + 0.7 * Math.exp(mean + deviation ** 2 / 2);
      expect(integrate((seconds) => seconds * density(seconds, DRAW, form), DRAW)).toBeCloseTo(expected, 3);
    }
    expect(logMoments(DRAW, "as_printed")[0]).toBeCloseTo(Math.log(2), 12); // μ is its median
    expect(density(4.9, DRAW, "as_printed")).toBe(0);
    expect(late(DRAW, "as_printed", 0)).toBeCloseTo(5 + 0.7 * 2, 12);
  });
  it("has no density where nothing is left to chance", () => {
    expect(density(2, { ...DRAW, latency_spread_s: 0, yielded_s: 0 }, "as_printed")).toBe(0);
  });
});

const PARAMETERS = mindParameters({ perception_threshold: 0.12 });
const MIND: Mind = {
  agent: "Ana",
  perception: { turn: 3, relevance: 0.576, named: true, noticed: true, reason: null, importance: 5.76 },
  situation_summary: null, key_information: null, character_analysis: null, decision_reason: null,
  mechanisms: {}, findings: {}, situation: null, thought: "Hm.", emotion: "glad", emotion_strength: 0.1, plan_done: [],
  willingness: 0.6, willingness_parts: { topic: 1, goal: 0.4, emotion: 0.5, personality: 0.5 }, willingness_ratings: null,
  weights: { topic: 0.25, goal: 0.25, emotion: 0.25, personality: 0.25 }, willing: true, similarity: 0, similarity_max: null,
  latency_scale_s: 2, latency_spread_s: 1, persistence: 1, address: 1, need: 0, yielded_s: 0, latency_s: 1.5, won: true, typed: null,
};
const OTHER: Mind = { ...MIND, agent: "Bo", won: false, latency_s: 1.75, persistence: 0.7, address: 0 };
const FLOOR = { order: "self_driven", waited_s: 1.5, looks: 1, tied: [], gone: [], reason: null, drawn: false };

describe("a round in words", () => {
  it("says what was noticed, and how it was weighed", () => {
    expect(perceptionInWords(MIND, PARAMETERS)).toBe("noticed turn 3: relevance 0.58, importance 5.8, called by name");
    const unnoticed = { ...MIND, perception: { ...MIND.perception, noticed: false, relevance: 0.1, turn: 0 } };
    const barely = { ...MIND, perception: { ...MIND.perception, noticed: false, relevance: 0.1196 } };
    expect(perceptionInWords(barely, PARAMETERS)).toBe("did not notice turn 3: relevance 0.1196, below 0.12");
    expect(perceptionInWords(unnoticed, PARAMETERS)).toBe("did not notice how it opened: relevance 0.10, below 0.12");
  });
  it("says how everybody stood to the floor", () => {
    expect(outcomeInWords(MIND, MIND, PARAMETERS)).toBe("got the floor");
    expect(outcomeInWords(OTHER, MIND, PARAMETERS)).toBe("0.25 s too late");
    expect(outcomeInWords({ ...OTHER, latency_s: null }, MIND, PARAMETERS, { ...FLOOR, gone: ["Bo"] })).toBe("had to leave");
    expect(outcomeInWords(OTHER, undefined, PARAMETERS, { ...FLOOR, waited_s: null, looks: 3 })).toBe("would have begun after 4.75 s");
    expect(outcomeInWords({ ...OTHER, willing: false, latency_s: null, willingness: 0.3 }, MIND, PARAMETERS)).toBe(
      "not willing: 0.30 < threshold 0.5",
    );
    expect(outcomeInWords({ ...OTHER, willing: false, latency_s: null, willingness: 0.4992 }, MIND, PARAMETERS)).toBe(
      "not willing: 0.499 < threshold 0.5",
    );
    expect(outcomeInWords({ ...OTHER, willing: false, latency_s: null, willingness: null, typed: "" }, MIND, PARAMETERS)).toBe(
      "stayed silent",
    );
    expect(latencyInWords(OTHER, PARAMETERS)).toBe("scale 2.00 s, spread 1.00 s, unheard before: × 0.7");
  });
  it("says why nobody had the floor", () => {
    expect(floorInWords(FLOOR, [MIND, OTHER], PARAMETERS)).toContain("first word after 1.50 s");
    const silent = { ...FLOOR, waited_s: null, looks: 3 };
    expect(floorInWords(silent, [], PARAMETERS)).toContain("nobody was willing; 10 seconds of silence");
    expect(floorInWords(silent, [OTHER], PARAMETERS)).toContain("the first word would have come after 4.75 s");
    const leaving = { ...silent, looks: 1, gone: ["Ana"] };
    expect(floorInWords(leaving, [{ ...MIND, won: false }, OTHER], PARAMETERS)).toContain("the first word would have come after 1.75 s");
    expect(floorInWords(leaving, [{ ...MIND, won: false }], PARAMETERS)).toContain("had to leave before that; 10 seconds of silence");
    expect(floorInWords({ ...FLOOR, order: "centralised", reason: "she asked" }, [MIND], PARAMETERS)).toMatch(/moderator.*she asked/);
    expect(floorInWords({ ...FLOOR, order: "designated", reason: "nobody was there", drawn: true }, [MIND], PARAMETERS)).toContain(
      "; \u2068nobody was there\u2069: drawn; first word",
    );
    expect(floorInWords({ ...FLOOR, order: "centralised", reason: "she asked", gone: ["Bo"] }, [MIND], PARAMETERS)).toContain(
      "; first \u2068Bo\u2069 (\u2068she asked\u2069); \u2068Bo\u2069 had to leave",
    );
    expect(floorInWords({ ...FLOOR, tied: ["Ana", "Bo", "\u202eCy"] }, [MIND], PARAMETERS)).toContain(
      "a tie of \u2068Ana\u2069, \u2068Bo\u2069 and \u2068\u202eCy\u2069 was drawn",
    );
    expect(floorInWords(null, [], PARAMETERS)).toContain("interrupted");
  });
});

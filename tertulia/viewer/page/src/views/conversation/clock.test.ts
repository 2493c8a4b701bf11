import { describe, expect, it } from "vitest";
import { begunAt, endOf, marks, nearest, spanEnd, timeOfDay, within } from "./clock";

const SPANS = [
  { sim_time_s: 0, duration_s: 9 }, // how it opened: cut off by the first turn
  { sim_time_s: 5, duration_s: 4 },
  { sim_time_s: 12, duration_s: 3 },
  { sim_time_s: 20, duration_s: 10 },
];

describe("places along the clock", () => {
  it("cuts a span off where the next begins", () => {
    expect([0, 1, 2, 3].map((index) => spanEnd(SPANS, index))).toEqual([5, 9, 15, 30]);
    expect(endOf(SPANS)).toBe(30);
    expect(endOf([])).toBe(1);
  });
  it("finds spans as a search through all of them does", () => {
    for (let time = -1; time < 35; time += 0.5) {
      expect(begunAt(SPANS, time)).toBe(SPANS.findLastIndex((span) => span.sim_time_s <= time));
      const distances = SPANS.map((span, index) => Math.max(span.sim_time_s - time, time - spanEnd(SPANS, index), 0));
      expect(distances[nearest(SPANS, time)]).toBe(Math.min(...distances));
    }
  });
  it("has in view all that a stretch shows", () => {
    expect(within(SPANS, 13, 14)).toEqual([1, 3]);
    expect(within(SPANS, -5, 500)).toEqual([0, 3]);
  });
  it("puts marks at even times, far enough apart", () => {
    expect(marks(0, 130, 1.5, 90)).toEqual({ step: 60, at: [0, 60, 120] });
    expect(marks(61, 70, 50, 90)).toEqual({ step: 2, at: [62, 64, 66, 68, 70] });
    expect(marks(0, 1e6, 1e-4, 90).at.length).toBeLessThan(3);
  });
  it("counts the time of day beyond midnight", () => {
    expect(timeOfDay("2026-03-03T23:59:30", 45, true)).toBe("00:00:15");
    expect(timeOfDay("2026-03-03T19:30:00", 61, false)).toBe("19:31");
    expect(timeOfDay("nonsense", 61, false)).toBe("");
  });
});

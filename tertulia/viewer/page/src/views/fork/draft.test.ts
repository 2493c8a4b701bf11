import { describe, expect, it } from "vitest";
import { changesNothing, type Draft, forkWords, onOneLine, removingSettings, tooLong } from "./draft";
import { typedOf, writtenOf } from "./person_fields";

const draft = (changes: Partial<Draft>): Draft => ({ run: "k3f9", at: 3, settings: {}, changes: {}, ...changes });

describe("the command of a fork", () => {
  it("has exactly what is changed", () => {
    const run = { factor: 0.5, order: "descending", walk: "paper" };
    const settings = removingSettings({ factor: 0.7, order: "ascending", walk: "paper" }, run);
    expect(forkWords(draft({ settings }), ["--store", "t.db"])).toEqual(
      ["fork", "k3f9", "--at", "3", "--lambda", "0.7", "--set", "removal_order=ascending", "--store", "t.db"],
    );
    expect(removingSettings(run, run)).toEqual({});
  });

  it("keeps a value from being taken for an option", () => {
    expect(forkWords(draft({ changes: { say: "--store x" } }), []).slice(4)).toEqual(["--say=--store x"]);
    const changes = { remember: [["Ida", "It rains."]], mechanisms: [] } as const;
    expect(forkWords(draft({ changes }), []).slice(4)).toEqual(["--remember", "Ida=It rains.", "--mechanisms", "none"]);
  });

  it("knows whether anything is changed", () => {
    expect(changesNothing(draft({ changes: { label: "x" } }))).toBe(true);
    expect(changesNothing(draft({ changes: { say: "x" } }))).toBe(false);
    expect(changesNothing(draft({ settings: { seed: "1" } }))).toBe(false);
  });

  it("says how long a text may be", () => {
    expect(tooLong("The line", "x".repeat(100_000))).toContain("has 100,000 characters; it may have at most 10,000");
    expect(tooLong("The line", "😀".repeat(10_000))).toBeNull();
    expect(onOneLine(" a\n\tb  c ")).toBe("a b c");
  });
});

describe("a field of a person", () => {
  it("is typed as people write, and handed over as YAML reads it", () => {
    const goals = [{ goal: "have hot water", sub_goals: ["ask Runa", "pay"] }, { goal: "go home", sub_goals: [] }];
    const typed = typedOf({ name: "goals", how: "goals", value: goals, choices: [] });
    expect(typed).toBe("have hot water\n- ask Runa\n- pay\ngo home");
    expect(JSON.parse(writtenOf("goals", typed))).toEqual(goals);
    expect(writtenOf("text", "yes: no")).toBe('"yes: no"');
    expect(writtenOf("text", "  ")).toBe("null");
    expect(writtenOf("lines", "a\n\n b ")).toBe('["a","b"]');
    expect(writtenOf("pairs", "Ida Falk: He owes her: money.")).toBe('{"Ida Falk":"He owes her: money."}');
    expect(writtenOf("plain", " A painter ")).toBe("A painter");
    expect(writtenOf("number", "0.3")).toBe("0.3");
  });
});

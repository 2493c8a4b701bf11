import { expect, test, vi } from "vitest";

vi.stubGlobal("location", { hash: "", protocol: "http:" });
vi.stubGlobal("addEventListener", () => {});
const { stepsThrough } = await import("./walk_steps");
const { isAt } = await import("./walk");
const { placeOf } = await import("../router");

const run = (name: string, scenario: string, label: string | null, parent: { run: string; turn: number } | null = null) => ({ run: name, scenario, label, parent });

test("steps lead to the conversations of the example, wherever their names come from", () => {
  const places = stepsThrough([
    run("a1", "tidewell:3", "λ = 0.5"),
    run("b2", "tidewell:3", "forked", { run: "a1", turn: 4 }),
    run("c3", "mothers_house", null),
    run("d4", "tidewell:3", "λ = 1"),
  ]).map(({ place }) => place);
  expect(places).toHaveLength(8);
  expect(places).toContain("#/compare/a1/b2");
  expect(places.at(-2)).toMatch(/^#\/runs\/c3\?turn=/);
});

test("a step whose conversation was removed is left out", () => {
  expect(stepsThrough([run("c3", "mothers_house", null)])).toHaveLength(3);
});

test("a step is shown at its place alone", () => {
  const at = (hash: string, step: string) => isAt(placeOf(hash), placeOf(step));
  expect([at("", "#/runs"), at("#/runs/a1?turn=3&pane=candidates", "#/runs/a1?turn=3&pane=prompt")]).toEqual([true, true]);
  expect([at("#/runs/a1", "#/runs"), at("#/runs/a1?turn=4", "#/runs/a1?turn=3"), at("#/runs/a1/minds?turn=3", "#/runs/a1?turn=3")]).toEqual([false, false, false]);
});

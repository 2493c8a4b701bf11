import { expect, it, vi } from "vitest";

const asked: { path: string; answer: (document: unknown) => void }[] = [];
const read = (path: string) => new Promise((answer) => asked.push({ path, answer }));
vi.mock("./source", () => ({ source: { read } }));
vi.stubGlobal("document", { documentElement: { toggleAttribute: () => undefined } });
const { followDocument } = await import("./use_document");

const settled = () => new Promise((done) => setTimeout(done));

it("asks for the figures of a run that goes on once at a time, and shows each answer", async () => {
  const shown: unknown[] = [];
  let end = () => undefined as void;
  for (let turns = 1; turns <= 10; turns++) {
    end();
    end = followDocument("runs/k3f9/figures", `running ${turns}`, (reading) => void reading.then((document) => shown.push(document)));
  }
  expect(asked).toHaveLength(1);
  asked[0]!.answer("of 1 turn");
  await settled();
  expect(new Set(shown)).toEqual(new Set(["of 1 turn"]));
  expect(asked).toHaveLength(2);
  asked[1]!.answer("of 10 turns");
  await settled();
  expect(shown.at(-1)).toBe("of 10 turns");
  expect(asked).toHaveLength(2);
});

import { expect, test } from "vitest";
import { idsOf, listOfIds } from "./id_list";

test("ids come back as they were, whatever they hold", () => {
  const ids = ["k3f9", "a,b", "100 %", "ñ"];
  expect(idsOf(listOfIds(ids)!)).toEqual(ids);
  expect(idsOf(undefined)).toEqual([]);
  expect(listOfIds([])).toBeNull();
});

test("a mistyped address is read all the same", () => {
  expect(idsOf("k3f9,%,%zz")).toEqual(["k3f9", "%", "%zz"]);
});

import { expect, test } from "vitest";
import { csvOf } from "./save";

test("texts are quoted, and no text is a formula", () => {
  const rows = [["=1+1", -1.5], ['a "b"', null], ["two\nlines", true], ["@x,y", 1e21], ["plain", undefined]];
  expect(csvOf(["who", "much"], rows)).toBe(
    `who,much\r\n'=1+1,-1.5\r\n"a ""b""",\r\n"two\nlines",true\r\n"'@x,y",1e+21\r\nplain,\r\n`,
  );
});

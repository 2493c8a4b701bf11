import { expect, test } from "vitest";
import { commandLine } from "./shell";

test.each([
  ["", "''"],
  ["two words", "'two words'"],
  ["it's", `'it'"'"'s'`],
  ["$HOME `id`;|&<>()*?[]{}~#!", "'$HOME `id`;|&<>()*?[]{}~#!'"],
  ["name=ü", "'name=ü'"],
  ["line\nline", "'line\nline'"],
])("a shell reads %j back from its quotes", (word, quoted) => {
  expect(commandLine(["tertulia", word])).toBe(`tertulia ${quoted}`);
});

test("plain words stay as they are", () => {
  const line = "tertulia fork k3f9 --at 4 --lambda 0.9 --set order=self_driven --store ./a/b.db";
  expect(commandLine(line.split(" "))).toBe(line);
});

import { expect, test } from "vitest";
import { inParts, sentenceOf } from "./terms";

test("a term is found where it stands first, by any of its words, whatever its letters are", () => {
  expect(inParts("Nats a token, and nats again")).toEqual([
    { name: "nats", word: "Nats" }, " a ", { name: "token", word: "token" }, ", and ", "nats", " again",
  ]);
  expect(inParts("λ = 0.5; 2 rolled back")).toEqual([{ name: "λ", word: "λ" }, " = 0.5; 2 ", { name: "rolled back", word: "rolled back" }]);
});

test("words that only hold a term are none", () => {
  expect(inParts("tokenizer, forbidden")).toEqual(["tokenizer, forbidden"]);
});

test("a term has a sentence, and nothing else has one", () => {
  expect(sentenceOf("nats")).toContain("1.44 bits");
  expect(sentenceOf("constructor")).toBeUndefined();
});

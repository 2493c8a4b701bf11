import { expect, test } from "vitest";
import { MEASURES } from "./candidate_words";

test("the figure of a draft is called what it is", () => {
  expect(MEASURES.likelihood).toBe("mean log-probability");
  expect(MEASURES.information).toBe("information shared with the prompt");
});

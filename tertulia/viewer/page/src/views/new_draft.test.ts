import { expect, test } from "vitest";
import { asked, fieldShown, isUnfinished, NOBODY, shownTyped, thisHour, UNTOUCHED } from "./new_draft";

const ida = { ...NOBODY, name: "Ida" };
const jonas = { ...NOBODY, name: "Jonas" };

test("blank people are shown and not sent, and the server's places are those of the form", () => {
  expect(shownTyped([ida], false)).toEqual([ida, NOBODY]);
  expect(shownTyped([], true)).toEqual([]);
  const typed = [NOBODY, ida, jonas];
  expect(fieldShown("typed.1.name", typed)).toBe("typed.2.name");
  expect(fieldShown("typed.2.name", typed)).toBe("typed.0.name");
  expect(fieldShown("time", typed)).toBe("time");
});

test("a draft is unfinished once something was typed", () => {
  expect(isUnfinished({ ...UNTOUCHED, typed: [NOBODY], factor: 0.2, model: "smollm2", seed: "7" })).toBe(false);
  expect(isUnfinished({ ...UNTOUCHED, typed: [NOBODY, ida] })).toBe(true);
  expect(isUnfinished({ ...UNTOUCHED, place: "the quay" })).toBe(true);
});

test("a conversation is sent as it was typed, and one of files begins when they say", () => {
  const draft = { ...UNTOUCHED, typed: [ida, NOBODY, jonas], model: "rehearsal", rounds: " 3 " };
  const sent = asked(draft, ["f1"]) as { people: { typed: unknown; time: unknown }; rounds: string };
  expect([sent.people.typed, sent.people.time, sent.rounds]).toEqual([[ida, jonas], null, "3"]);
  expect(asked({ ...draft, source: "shipped", scenario: "tidewell:7" }, [])).toMatchObject({ people: { scenario: "tidewell:7" } });
  expect(thisHour(new Date(2031, 0, 2, 3, 4))).toBe("2031-01-02T03:00");
});

import { expect, test } from "vitest";
import { linksOf, placesOf } from "./meetings";

const met = (initiator: string, partner: string) =>
  ({ day: 1, number: 1, time: "", place: null, initiator, partner, activities: [null, null], run: "", turns: 0, speaker: null, first_line: null, appointment: null }) as const;

test("pairs are counted whoever spoke first", () => {
  const links = linksOf(["Ada", "Ben", "Cleo"], [met("Ada", "Ben"), met("Cleo", "Ada"), met("Ben", "Ada")]);
  expect(links).toEqual([{ a: "Ada", b: "Ben", count: 2 }, { a: "Ada", b: "Cleo", count: 1 }]);
});

test("the same meetings are drawn alike, inside the drawing and apart from each other", () => {
  const people = Array.from({ length: 30 }, (_, index) => `P${index}`);
  const links = people.slice(1).map((b, index) => ({ a: people[index % 5]!, b, count: 1 + (index % 3) }));
  const places = placesOf(people, links, 640, 480);
  expect(placesOf(people, links, 640, 480)).toEqual(places);
  for (const [index, { x, y }] of places.entries()) {
    expect(x >= 0 && x <= 640 && y >= 0 && y <= 480).toBe(true);
    for (const other of places.slice(index + 1)) expect(Math.hypot(x - other.x, y - other.y)).toBeGreaterThan(12);
  }
});

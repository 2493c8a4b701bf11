import { expect, test } from "vitest";
import { linksOf, placesOf } from "./meetings";
import { countPlaces } from "./town_counts";

const at = (name: string, x: number, y: number) => ({ name, x, y });

test("a number stands in the middle of its line where there is room", () => {
  const [a, b] = [at("Ada", 100, 100), at("Ben", 300, 100)];
  expect(countPlaces([{ from: a, to: b, count: 3 }], new Map(), [a, b], 400).get(0)).toEqual({ x: 200, y: 100 });
});

test("where lines cross the number of the first stands, and the other's beside it", () => {
  const places = [at("A", 100, 100), at("B", 300, 300), at("C", 300, 100), at("D", 100, 300)];
  const links = [{ from: places[0]!, to: places[1]!, count: 9 }, { from: places[2]!, to: places[3]!, count: 1 }];
  const found = countPlaces(links, new Map(), places, 400);
  expect(found.get(0)).toEqual({ x: 200, y: 200 });
  expect(Math.abs(found.get(1)!.x - 200)).toBeGreaterThan(10);
});

test("a number that would cover a person is left out", () => {
  const [a, b, c] = [at("Ada", 100, 100), at("Ben", 130, 100), at("Cleo", 115, 100)];
  expect(countPlaces([{ from: a, to: b, count: 1 }], new Map(), [a, b, c], 400).size).toBe(0);
});

test("of a whole town the most often met have numbers, and none lies over another", () => {
  const people = Array.from({ length: 20 }, (_, index) => `Person ${index}`);
  const pairs = people.flatMap((a, i) => people.slice(i + 1).flatMap((b, j) => Array<[string, string]>((i * 7 + j * 3) % 5).fill([a, b])));
  const links = linksOf(people, pairs.map(([initiator, partner]) => ({ initiator, partner }) as never));
  const places = placesOf(people, links, 560, 560);
  const of = new Map(places.map((place) => [place.name, place]));
  const drawn = links.map(({ a, b, count }) => ({ from: of.get(a)!, to: of.get(b)!, count }));
  const found = [...countPlaces(drawn, new Map(), places, 560).values()];
  expect(found.length).toBeGreaterThan(10);
  expect(found.length).toBeLessThan(links.length);
  for (const [index, number] of found.entries()) {
    for (const other of found.slice(index + 1)) expect(Math.abs(number.x - other.x) > 8 || Math.abs(number.y - other.y) > 16).toBe(true);
  }
});

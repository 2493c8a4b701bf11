/** Who met whom how often, and where everybody stands in a drawing of it. */

import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";
import type { Encounter } from "./town_documents";

/** How often two met; `a` stands before `b` in the list of people. */
export interface Link {
  readonly a: string;
  readonly b: string;
  readonly count: number;
}

/** Return how often each pair met, most often first. */
export function linksOf(people: readonly string[], encounters: readonly Encounter[]): Link[] {
  const places = new Map(people.map((name, index) => [name, index]));
  const counts = new Map<string, { a: string; b: string; count: number }>();
  for (const { initiator, partner } of encounters) {
    const isInOrder = (places.get(initiator) ?? 0) <= (places.get(partner) ?? 0);
    const [a, b] = isInOrder ? [initiator, partner] : [partner, initiator];
    const key = JSON.stringify([a, b]);
    const link = counts.get(key);
    if (link) link.count++;
    else counts.set(key, { a, b, count: 1 });
  }
  return [...counts.values()].sort((left, right) => right.count - left.count);
}

export interface Place {
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

/**
 * Return where people stand in a drawing of a size: whoever met often stands close. The forces have come to rest, and
 * begin with the same circle each time, so that the same meetings are drawn alike.
 */
export function placesOf(people: readonly string[], links: readonly Link[], width: number, height: number): Place[] {
  const nodes = people.map((name, index) => {
    const angle = (2 * Math.PI * index) / people.length;
    return { name, x: width / 2 + (width / 3) * Math.cos(angle), y: height / 2 + (height / 3) * Math.sin(angle) };
  });
  const index = new Map(people.map((name, place) => [name, place]));
  const edges = links
    .filter(({ a, b }) => index.has(a) && index.has(b) && a !== b)
    .map(({ a, b, count }) => ({ source: index.get(a)!, target: index.get(b)!, count }));
  const room = Math.sqrt((width * height) / Math.max(1, people.length));
  forceSimulation(nodes)
    .force("link", forceLink<(typeof nodes)[number], (typeof edges)[number]>(edges).distance(room * 0.9).strength(({ count }) => Math.min(0.7, 0.1 * count)))
    .force("apart", forceManyBody().strength(-room * 4))
    .force("collide", forceCollide(Math.min(50, room * 0.45)))
    .force("x", forceX(width / 2).strength(0.06))
    .force("y", forceY(height / 2).strength(0.12))
    .force("centre", forceCenter(width / 2, height / 2))
    .stop()
    .tick(300);
  // Spread over the drawing, whose borders leave room for names.
  const [left, right, top, bottom] = [70, width - 70, 24, height - 34];
  const spread = (values: number[], from: number, to: number) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return values.map((value) => (most > least ? from + ((value - least) * (to - from)) / (most - least) : (from + to) / 2));
  };
  const xs = spread(nodes.map(({ x }) => x), left, right);
  const ys = spread(nodes.map(({ y }) => y), top, bottom);
  return nodes.map(({ name }, place) => ({ name, x: xs[place]!, y: ys[place]! }));
}

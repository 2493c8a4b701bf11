/** Where the numbers of a drawing of meetings have room: on their lines, and over nothing else that is read. */

import { textWidth } from "../components/plot";
import type { Place } from "./meetings";

export interface DrawnLink {
  readonly from: Place;
  readonly to: Place;
  readonly count: number;
}

interface Box {
  readonly x: number;
  readonly y: number;
  /** Half of its sides. */
  readonly wide: number;
  readonly high: number;
}

/** Half the height of a line of text. */
const HALF_LINE = 8;
/** Pixels between what is read. */
const APART = 2;
/** Where on its line a number may stand, the best place first. */
const ALONG = [0.5, 0.42, 0.58, 0.34, 0.66];
/** A person's mark with its ring. */
export const RADIUS = 11;
/** How far below its mark the foot of a name stands. */
export const NAME_BELOW = 24;

/** Return how a name stands to its mark in a drawing of a width, so that it is not cut off. */
export function anchorOf(x: number, width: number): "start" | "middle" | "end" {
  return x < 60 ? "start" : x > width - 60 ? "end" : "middle";
}

/**
 * Return where the numbers of links stand, by the links' places, in a drawing of a width: earlier links first, each where
 * it covers no person and no other number; those without such a place are left out.
 */
export function countPlaces(links: readonly DrawnLink[], names: ReadonlyMap<string, string>, places: readonly Place[], width: number): Map<number, { x: number; y: number }> {
  const taken: Box[] = places.flatMap(({ name, x, y }) => [{ x, y, wide: RADIUS, high: RADIUS }, nameBox(names.get(name) ?? name, x, y, width)]);
  const found = new Map<number, { x: number; y: number }>();
  for (const [index, { from, to, count }] of links.entries()) {
    for (const along of ALONG) {
      const [x, y] = [from.x + along * (to.x - from.x), from.y + along * (to.y - from.y)];
      const box = { x, y, wide: textWidth(String(count)) / 2 + 2, high: HALF_LINE };
      if (taken.some((other) => meet(box, other))) continue;
      taken.push(box);
      found.set(index, { x, y });
      break;
    }
  }
  return found;
}

function nameBox(name: string, x: number, y: number, width: number): Box {
  const wide = textWidth(name) / 2;
  const shift = { start: wide, middle: 0, end: -wide }[anchorOf(x, width)];
  return { x: x + shift, y: y + NAME_BELOW - 5, wide, high: HALF_LINE };
}

function meet(a: Box, b: Box): boolean {
  return Math.abs(a.x - b.x) < a.wide + b.wide + APART && Math.abs(a.y - b.y) < a.high + b.high + APART;
}

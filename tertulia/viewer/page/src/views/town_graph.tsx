/** Who met whom: as a drawing, and as a matrix. */

import { useMemo, useState } from "preact/hooks";
import { Plot } from "../components/plot";
import { colourOf, shapeOf } from "../components/speakers";
import "../styles/matrix.css";
import { type Link, placesOf } from "./meetings";
import { anchorOf, countPlaces, NAME_BELOW, RADIUS } from "./town_counts";

/** People whose names can be read in the drawing. */
export const MOST_IN_GRAPH = 30;
export const MOST_IN_MATRIX = 60;

interface GraphProps {
  readonly title: string;
  readonly name: string;
  /** All of the town, by which marks are chosen. */
  readonly everybody: readonly string[];
  readonly people: readonly string[];
  readonly links: readonly Link[];
}

export function Graph({ title, name, everybody, people, links }: GraphProps) {
  const height = Math.max(260, Math.min(560, 120 + 26 * people.length));
  return (
    <Plot
      title={title}
      name={name}
      note="The thicker a line, the more often two met. A number says how often, where there is room; point at a person to see theirs. The table has all."
      columns={["person", "with", "encounters"]}
      rows={links.map(({ a, b, count }) => [a, b, count])}
      width={640}
      height={height}
    >
      {(width) => <Drawing everybody={everybody} people={people} links={links} width={width} height={height} />}
    </Plot>
  );
}

/** People whose whole names have room in the drawing. */
const MOST_WHOLE_NAMES = 12;
const NAME_LENGTH = 22;

/** Return how people are called in the drawing: of many, by the first word of their names where that tells them apart. */
function shortNames(people: readonly string[]): ReadonlyMap<string, string> {
  const first = (name: string) => name.split(/\s/)[0]!;
  const isTold = people.length > MOST_WHOLE_NAMES && new Set(people.map(first)).size === people.length;
  const cut = (name: string) => (name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH - 1)}…` : name);
  return new Map(people.map((name) => [name, cut(isTold ? first(name) : name)]));
}

function Drawing({ everybody, people, links, width, height }: Omit<GraphProps, "title" | "name"> & { width: number; height: number }) {
  const places = useMemo(() => placesOf(people, links, width, height), [people.join("\n"), links, width, height]);
  const at = new Map(places.map((place) => [place.name, place]));
  const [pointed, point] = useState<string | null>(null);
  const most = Math.max(1, ...links.map(({ count }) => count));
  const shown = shortNames(people);
  const drawn = links.flatMap((link) => {
    const [a, b] = [at.get(link.a), at.get(link.b)];
    return a && b && a !== b ? [{ ...link, from: a, to: b }] : [];
  });
  const isTheirs = ({ a, b }: Link) => pointed === null || a === pointed || b === pointed;
  const theirs = drawn.filter(isTheirs);
  const counts = countPlaces(theirs, shown, places, width);
  return (
    <g class="meetings">
      {drawn.map((link, index) => (
        <line key={index} class={`link ${isTheirs(link) ? "" : "faint"}`} x1={link.from.x} y1={link.from.y} x2={link.to.x} y2={link.to.y} stroke-width={1 + (7 * link.count) / Math.max(most, 4)} stroke-linecap="round" />
      ))}
      {[...counts].map(([index, { x, y }]) => (
        <text key={index} class="count" x={x} y={y} dy="0.32em" text-anchor="middle">{theirs[index]!.count}</text>
      ))}
      {places.map(({ name, x, y }) => (
        <g key={name} transform={`translate(${x} ${y})`} onPointerEnter={() => point(name)} onPointerLeave={() => point(null)}>
          <circle class="node" r={RADIUS} />
          <path transform="translate(-7.2 -7.2) scale(1.2)" d={shapeOf(everybody, name)} style={{ fill: colourOf(everybody, name) }} />
          <text class="person" y={NAME_BELOW} text-anchor={anchorOf(x, width)}>{shown.get(name)}</text>
        </g>
      ))}
    </g>
  );
}

/** Return a name as it heads a column: its first letters. */
function initials(name: string): string {
  return name.split(/\s+/).map((word) => [...word][0] ?? "").join("").slice(0, 3);
}

/** How often each met each; beyond what can be overlooked, the list of pairs. */
export function Matrix({ links, people }: { links: readonly Link[]; people: readonly string[] }) {
  if (people.length > MOST_IN_MATRIX) return <Pairs links={links} />;
  const counts = new Map(links.flatMap(({ a, b, count }) => [[JSON.stringify([a, b]), count], [JSON.stringify([b, a]), count]] as const));
  const most = Math.max(1, ...links.map(({ count }) => count));
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label="How often each met each">
      <table class="matrix">
        <thead>
          <tr>
            <td />
            {people.map((name) => <th key={name} scope="col"><abbr title={name}>{initials(name)}</abbr></th>)}
          </tr>
        </thead>
        <tbody>
          {people.map((row) => (
            <tr key={row}>
              <th scope="row" class="data">{row}</th>
              {people.map((column) => {
                const count = counts.get(JSON.stringify([row, column])) ?? 0;
                return <td key={column} class={`number shade-${Math.ceil((4 * count) / most)}`}>{row === column ? "" : count || "·"}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const PAIRS_SHOWN = 300;

function Pairs({ links }: { links: readonly Link[] }) {
  return (
    <div class="scroller pairs" tabIndex={0} role="region" aria-label="Pairs that met">
      <table>
        <thead><tr><th scope="col">person</th><th scope="col">with</th><th scope="col" class="number">encounters</th></tr></thead>
        <tbody>
          {links.slice(0, PAIRS_SHOWN).map(({ a, b, count }) => (
            <tr key={`${a}\n${b}`}><th scope="row" class="data">{a}</th><td class="data">{b}</td><td class="number">{count}</td></tr>
          ))}
        </tbody>
      </table>
      {links.length > PAIRS_SHOWN && <p class="small muted">and {(links.length - PAIRS_SHOWN).toLocaleString("en")} pairs that met less often</p>}
    </div>
  );
}

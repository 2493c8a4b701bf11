/**
 * Plots: a drawing with a caption, its figures as a table, and both to be saved.
 *
 *     <Plot title="Words per turn" name="words" columns={["turn", "words"]} rows={rows} width={640} height={240}>
 *       {(width, height) => <>…</>}
 *     </Plot>
 *
 * `width` is the most it takes: a drawing given as a function is drawn as wide as there is room, so that its text stays
 * readable on a telephone; one given as elements is scaled down.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Cell, csvOf, saveText, svgOf } from "../save";
import "../styles/plot.css";

type Drawing = ComponentChildren | ((width: number, height: number) => ComponentChildren);

export interface PlotProps {
  readonly title: string;
  /** What the figures are, below the title. */
  readonly note?: ComponentChildren;
  /** Of the saved files, without what follows the point. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly width: number;
  readonly height: number;
  /** Whether marks of the drawing are links: then it is no picture to a screen reader, but a group. */
  readonly hasLinks?: boolean;
  readonly children?: Drawing;
}

const ROWS_SHOWN = 200;

export function Plot({ title, note, name, columns, rows, width, height, hasLinks, children }: PlotProps) {
  const figure = useRef<HTMLElement>(null);
  const drawing = useRef<SVGSVGElement>(null);
  const isFitted = typeof children === "function";
  const room = useWidth(figure, width, isFitted);
  const save = () => drawing.current && saveText(`${name}.svg`, svgOf(drawing.current, title), "image/svg+xml");
  return (
    <figure class="plot" ref={figure} style={{ maxWidth: `${width}px` }}>
      <figcaption>
        <strong>{title}</strong>
        <span class="row">
          <button class="small" aria-label={`Save “${title}” as SVG`} onClick={save}>SVG</button>
          <button
            class="small"
            aria-label={`Save the figures of “${title}” as CSV`}
            onClick={() => saveText(`${name}.csv`, csvOf(columns, rows), "text/csv")}
          >
            CSV
          </button>
        </span>
        {note && <span class="note muted">{note}</span>}
      </figcaption>
      <svg ref={drawing} viewBox={`0 0 ${room} ${height}`} width={room} height={height} role={hasLinks ? "group" : "img"} aria-label={title}>
        {isFitted ? children(room, height) : children}
      </svg>
      <Figures title={title} columns={columns} rows={rows} />
    </figure>
  );
}

/** The figures of a plot as a table that is made when it is opened. */
function Figures({ title, columns, rows }: Pick<PlotProps, "title" | "columns" | "rows">) {
  const [isOpen, open] = useState(false);
  const [shown, show] = useState(ROWS_SHOWN);
  return (
    <details onToggle={(event) => open(event.currentTarget.open)}>
      <summary>Figures as a table</summary>
      {isOpen && (
        <div class="scroller table" tabIndex={0} role="region" aria-label={`Figures of “${title}”`}>
          <table>
            <thead><tr>{columns.map((column) => <th key={column} scope="col">{column}</th>)}</tr></thead>
            <tbody>
              {rows.slice(0, shown).map((row, index) => (
                <tr key={index}>{row.map((value, column) => <TableCell key={column} value={value} />)}</tr>
              ))}
            </tbody>
          </table>
          {rows.length > shown && (
            <button onClick={() => show(shown + 10 * ROWS_SHOWN)}>Show more of {rows.length.toLocaleString("en")} rows</button>
          )}
        </div>
      )}
    </details>
  );
}

function TableCell({ value }: { value: Cell }) {
  if (typeof value === "number") return <td class="number">{Number.isInteger(value) ? value : Number(value.toPrecision(6))}</td>;
  return <td class="data">{value === null || value === undefined ? "–" : String(value)}</td>;
}

/** Return the width that there is for a drawing, up to a limit. */
export function useWidth(element: { readonly current: HTMLElement | null }, limit: number, isFitted = true): number {
  const [room, setRoom] = useState(limit);
  useEffect(() => {
    if (!isFitted || !element.current) return;
    const measure = () => element.current && setRoom(Math.max(200, Math.min(limit, Math.floor(element.current.clientWidth))));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [limit, isFitted]);
  return isFitted ? room : limit;
}

// --- axes -----------------------------------------------------------------------------------------------------------

/** A scale of d3-scale: linear, of time (`scaleUtc`), or of bands. */
interface AxisScale {
  (value: never): number | undefined;
  domain(): readonly unknown[];
  range(): readonly number[];
  ticks?(count?: number): unknown[];
  tickFormat?(count?: number): (value: never) => string;
  bandwidth?(): number;
}

interface AxisProps {
  readonly scale: AxisScale;
  /** Where the axis stands: y of one at the bottom, x of one at the left. */
  readonly at: number;
  readonly label?: string;
  /** About how many ticks; of bands, at most. */
  readonly count?: number;
  readonly format?: (value: never) => string;
  /** How long lines across the plot are; 0: there are none. */
  readonly grid?: number;
  /** Only whole numbers have ticks. */
  readonly isWhole?: boolean;
}

/** Return where ticks stand, with their texts. */
function ticksOf({ scale, count = 6, format, isWhole }: AxisProps): { at: number; text: string }[] {
  const isBand = scale.bandwidth !== undefined;
  let values = isBand ? [...scale.domain()] : (scale.ticks?.(count) ?? []);
  if (isBand && values.length > count) {
    const step = Math.ceil(values.length / count);
    values = values.filter((_, index) => index % step === 0);
  }
  if (isWhole) values = values.filter((value) => Number.isInteger(value));
  const text = format ?? (isWhole ? String : scale.tickFormat?.(count)) ?? String;
  const middle = isBand ? scale.bandwidth!() / 2 : 0;
  return values.map((value) => ({ at: (scale(value as never) ?? 0) + middle, text: text(value as never) }));
}

export function BottomAxis(props: AxisProps) {
  const { scale, at, label, grid = 0 } = props;
  const [from = 0, to = 0] = scale.range();
  return (
    <g class="axis" transform={`translate(0 ${at})`}>
      <line x1={from} x2={to} />
      {ticksOf(props).map((tick, index) => (
        <g key={index} transform={`translate(${tick.at} 0)`}>
          <line y2={4} />
          {grid > 0 && <line class="across" y1={0} y2={-grid} />}
          <text y={16} text-anchor="middle">{tick.text}</text>
        </g>
      ))}
      {label && <text class="label" x={to} y={32} text-anchor="end">{label}</text>}
    </g>
  );
}

export function LeftAxis(props: AxisProps) {
  const { scale, at, label, grid = 0 } = props;
  const [from = 0, to = 0] = scale.range();
  return (
    <g class="axis" transform={`translate(${at} 0)`}>
      <line y1={from} y2={to} />
      {ticksOf(props).map((tick, index) => (
        <g key={index} transform={`translate(0 ${tick.at})`}>
          <line x2={-4} />
          {grid > 0 && <line class="across" x1={0} x2={grid} />}
          <text x={-7} dy="0.32em" text-anchor="end">{tick.text}</text>
        </g>
      ))}
      {label && <text class="label" x={-at + 2} y={Math.min(from, to) - 8}>{label}</text>}
    </g>
  );
}

// --- series ---------------------------------------------------------------------------------------------------------

const DASHES = ["", "6 3", "2 3", "8 3 2 3", "12 4", "4 2 1 2 1 2", "1 4", "10 2 2 2"];

/** Return how a series is drawn: by colour and by dashes. */
export function seriesStyle(index: number): { readonly stroke: string; readonly dashes: string } {
  return { stroke: `var(--speaker-${index % 8})`, dashes: DASHES[(index + Math.floor(index / 8)) % DASHES.length]! };
}

/** Return the `d` of a line through points; where a value is missing, the line is interrupted. */
export function linePath(points: readonly (readonly [number, number | null | undefined])[]): string {
  let path = "";
  let isOpen = false;
  for (const [x, y] of points) {
    if (y === null || y === undefined || !Number.isFinite(y)) isOpen = false;
    else {
      path += `${isOpen ? "L" : "M"}${round(x)} ${round(y)}`;
      isOpen = true;
    }
  }
  return path;
}

const round = (value: number) => Math.round(value * 100) / 100;

/** A line of a series. */
export function Series({ index, points, isThin }: {
  index: number;
  points: readonly (readonly [number, number | null | undefined])[];
  isThin?: boolean;
}) {
  const { stroke, dashes } = seriesStyle(index);
  return <path class={isThin ? "series thin" : "series"} d={linePath(points)} style={{ stroke }} stroke-dasharray={dashes || undefined} />;
}

/** About how wide a text of an axis or a legend is. */
export function textWidth(text: string): number {
  return 6.8 * [...text].length;
}

/** Return in which rows of a width the entries of a legend stand, as their places; and how high it is. */
export function legendPlaces(labels: readonly string[], width: number): { places: { x: number; y: number }[]; height: number } {
  let [x, y] = [0, 0];
  const places = labels.map((label) => {
    const wide = 30 + textWidth(label) + 16;
    if (x > 0 && x + wide > width) [x, y] = [0, y + 18];
    const place = { x, y };
    x += wide;
    return place;
  });
  return { places, height: labels.length ? y + 18 : 0 };
}

/** What the lines of a plot are, above it; `legendPlaces` says how high it is. */
export function Legend({ labels, x, y, width }: { labels: readonly string[]; x: number; y: number; width: number }) {
  const { places } = legendPlaces(labels, width);
  return (
    <g class="legend" transform={`translate(${x} ${y})`}>
      {labels.map((label, index) => (
        <g key={index} transform={`translate(${places[index]!.x} ${places[index]!.y})`}>
          <Series index={index} points={[[0, 6], [24, 6]]} />
          <text x={30} y={6} dy="0.32em">{label}</text>
        </g>
      ))}
    </g>
  );
}

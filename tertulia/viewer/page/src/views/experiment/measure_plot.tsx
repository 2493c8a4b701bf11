/** A measure of an experiment: means with intervals and a point for each case, along an axis or setting by setting. */

import { scaleBand, scaleLinear } from "d3-scale";
import { useState } from "preact/hooks";
import { BottomAxis, LeftAxis, Plot, linePath, seriesStyle, textWidth } from "../../components/plot";
import type { Cell } from "../../save";
import type { Axis, Measure } from "./documents";
import { axisName, controlMark, extentOf, type Line, lineName, linesOf, type Mark, marksOf } from "./points";

export type OpenMark = (setting: string, inCase: string | null) => void;

interface Drawn {
  readonly mark: Mark;
  readonly x: number;
  readonly y: number;
  readonly index: number;
  readonly isControl: boolean;
}

export interface MeasurePlotProps {
  readonly name: string;
  readonly measure: Measure;
  /** Null: setting by setting. */
  readonly axis: Axis | null;
  readonly note: string;
  readonly open: OpenMark;
}

const WIDTH = 720;
const ROW = 34;

/** Return a figure with three digits that tell it apart, or with as many behind the point as its neighbours have. */
export function figure(value: number | null | undefined, digits?: number): string {
  if (value === null || value === undefined) return "–";
  const text = digits === undefined ? Number(value.toPrecision(3)).toString() : value.toFixed(digits);
  return text.replace("-", "\u2212");
}

/** Return with how many digits behind the point figures of a measure are told apart. */
export function digitsOf(measure: Measure): number {
  const extent = extentOf(measure.settings.flatMap(({ setting }) => marksOf(measure, setting)));
  return extent ? Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(extent[1] - extent[0])))) : 2;
}

export function MeasurePlot(props: MeasurePlotProps) {
  const { name, measure, axis, note } = props;
  const [at, setAt] = useState<readonly [number, number]>([0, 0]);
  const columns = keysOf(props);
  const chosen = columns.length ? markAt(columns, at) : undefined;
  const [isActive, activate] = useState(false);
  const move = (event: KeyboardEvent) => {
    const next = moved(columns, at, event.key);
    if (next) setAt(next);
    else if (event.key === "Enter" && chosen) props.open(chosen.setting, chosen.case);
    else return;
    event.preventDefault();
  };
  const height = axis ? 320 : 52 + ROW * columns.length;
  return (
    <div class="stack measure">
      <div
        class="keys"
        role="group"
        tabIndex={0}
        aria-label={`${measure.title}: arrow keys go from point to point, Enter opens its conversations`}
        onKeyDown={move}
        onFocus={(event) => event.currentTarget === event.target && activate(true)}
        onBlur={() => activate(false)}
      >
        <Plot
          title={measure.title}
          note={`${measure.meaning}${note}`}
          name={`${name}-${measure.metric}`}
          columns={COLUMNS(axis)}
          rows={rowsOf(measure, axis)}
          width={WIDTH}
          height={height}
        >
          {(width: number) => <Drawing {...props} width={width} height={height} chosen={isActive ? chosen : undefined} />}
        </Plot>
      </div>
      <p class="small muted said" aria-live="polite">
        {isActive && chosen ? `${chosen.setting}, ${chosen.case ?? "mean over cases"}: ${figure(chosen.value)}. Enter opens it.` : "\u00a0"}
      </p>
    </div>
  );
}

/** Return the marks by setting, as the keys go through them: the mean first, then cases from the highest. */
function keysOf({ measure, axis }: MeasurePlotProps): Mark[][] {
  const settings = measure.settings.map(({ setting }) => setting);
  const order = axis ? linesOf(axis, settings).flatMap((line) => line.settings) : settings;
  return order
    .map((setting) => marksOf(measure, setting))
    .filter((marks) => marks.length)
    .map(([mean, ...cases]) => [mean!, ...cases.sort((a, b) => b.value - a.value)]);
}

function markAt(columns: readonly Mark[][], [column, row]: readonly [number, number]): Mark | undefined {
  const marks = columns[Math.min(column, columns.length - 1)];
  return marks?.[Math.min(row, marks.length - 1)];
}

function moved(columns: readonly Mark[][], [column, row]: readonly [number, number], key: string): readonly [number, number] | null {
  const marks = columns[Math.min(column, columns.length - 1)] ?? [];
  if (key === "ArrowRight") return [Math.min(columns.length - 1, column + 1), row];
  if (key === "ArrowLeft") return [Math.max(0, column - 1), row];
  if (key === "ArrowDown") return [column, Math.min(marks.length - 1, row + 1)];
  if (key === "ArrowUp") return [column, Math.max(0, row - 1)];
  return null;
}

function Drawing(props: MeasurePlotProps & { width: number; height: number; chosen: Mark | undefined }) {
  return props.axis ? <AlongAxis {...props} axis={props.axis} /> : <BySetting {...props} />;
}

function AlongAxis({ measure, axis, open, width, height, chosen }: MeasurePlotProps & { axis: Axis; width: number; height: number; chosen: Mark | undefined }) {
  const lines = linesOf(axis, measure.settings.map(({ setting }) => setting));
  const control: Line[] = lines.filter(({ settings }) => settings.some((setting) => controlMark(measure, setting))).slice(0, 1)
    .map((line) => ({ ...line, label: "control: a stand-in without weights", isControl: true }));
  const all = [...lines, ...control];
  const labels = all.map((line) => (line.isControl ? line.label : lineName(line, axis)));
  const legend = places(labels, width - 48);
  const box = { top: legend.height + 26, right: 16, bottom: height - 40, left: 48 };
  const values = Object.values(axis.values);
  const x = scaleLinear([Math.min(...values), Math.max(...values)], [box.left + 30, width - box.right - 30]);
  const marks = lines.flatMap(({ settings }) => settings.flatMap((setting) => marksOf(measure, setting)));
  const ofControl = control.flatMap(({ settings }) => settings.flatMap((setting) => controlMark(measure, setting) ?? []));
  const extent = extentOf([...marks, ...ofControl]);
  if (!extent) return <text x={box.left} y={height / 2}>no figures</text>;
  const y = valueScale(extent, [box.bottom, box.top]);
  // The first line stands where its values are, the others beside it to the right and to the left.
  const step = Math.min(12, (width - 100) / (values.length * 4));
  const shift = (index: number) => Math.ceil(index / 2) * (index % 2 ? step : -step);
  const drawn: Drawn[] = all.flatMap((line, index) =>
    line.settings.flatMap((setting) => {
      const found = line.isControl ? [controlMark(measure, setting)].filter((mark) => mark !== null) : marksOf(measure, setting);
      return found.map((mark) => ({ mark, x: x(axis.values[setting]!) + shift(index), y: y(mark.value), index, isControl: line.isControl }));
    }),
  );
  return (
    <>
      <Key labels={labels} meanings={all.map(({ label }) => label)} places={legend.places} x={box.left} />
      <LeftAxis scale={y} at={box.left} count={5} grid={width - box.left - box.right} label={measure.title} />
      <BottomAxis scale={x} at={box.bottom} count={Math.min(6, Math.floor(width / 80))} label={axisName(axis.parameter)} />
      {all.map((_, index) => <Means key={index} index={index} points={drawn.filter((point) => point.index === index && point.mark.case === null)} y={y} />)}
      <Cases drawn={drawn} open={open} />
      <Heads drawn={drawn} open={open} />
      <Ring drawn={drawn} chosen={chosen} />
    </>
  );
}

/** A scale that ends at round numbers, but not beyond 1 where no value is: shares and distinct-n can't be. */
function valueScale(extent: [number, number], range: [number, number]) {
  const scale = scaleLinear(extent, range).nice(5);
  const [first, last] = scale.domain() as [number, number];
  return extent[1] <= 1 ? scale.domain([first, Math.min(last, 1)]) : scale;
}

function BySetting({ measure, open, width, height, chosen }: MeasurePlotProps & { width: number; height: number; chosen: Mark | undefined }) {
  const settings = measure.settings.map(({ setting }) => setting).filter((setting) => marksOf(measure, setting).length);
  const longest = Math.min(width * 0.4, Math.max(40, ...settings.map(textWidth)) + 14);
  const box = { top: 8, right: 60, bottom: height - 40, left: longest };
  const controls = settings.flatMap((setting) => controlMark(measure, setting) ?? []);
  const extent = extentOf([...settings.flatMap((setting) => marksOf(measure, setting)), ...controls]);
  if (!extent) return <text x={12} y={height / 2}>no figures</text>;
  const x = valueScale(extent, [box.left + 8, width - box.right]);
  const y = scaleBand(settings, [box.top, box.bottom]);
  const middle = (setting: string) => (y(setting) ?? 0) + y.bandwidth() / 2;
  const point = (mark: Mark, isControl: boolean): Drawn => ({
    mark, x: x(mark.value), y: middle(mark.setting) + (isControl ? 8 : 0), index: isControl ? 1 : 0, isControl,
  });
  const drawn = [...settings.flatMap((setting) => marksOf(measure, setting).map((mark) => point(mark, false))), ...controls.map((mark) => point(mark, true))];
  const most = Math.max(4, Math.floor((longest - 14) / 6.8));
  return (
    <>
      <BottomAxis scale={x} at={box.bottom} count={Math.min(6, Math.floor((width - longest) / 70))} label={measure.title} grid={box.bottom - box.top} />
      {settings.map((setting) => (
        <text key={setting} x={longest - 8} y={middle(setting)} dy="0.32em" text-anchor="end">
          {setting.length > most ? `${setting.slice(0, most - 1)}…` : setting}
        </text>
      ))}
      {drawn.filter(({ mark }) => mark.low !== null).map((at, index) => (
        <line key={index} class="interval" x1={x(at.mark.low!)} x2={x(at.mark.high!)} y1={at.y} y2={at.y} style={{ stroke: strokeOf(at) }} />
      ))}
      <Cases drawn={drawn} open={open} />
      <Heads drawn={drawn} open={open} />
      {drawn.filter(({ mark, isControl }) => mark.case === null && !isControl).map(({ mark, y: at }) => (
        <text key={mark.setting} class="value" x={width - 4} y={at} dy="0.32em" text-anchor="end">{figure(mark.value)}</text>
      ))}
      <Ring drawn={drawn} chosen={chosen} />
    </>
  );
}

const strokeOf = ({ isControl, index }: Drawn) => (isControl ? "var(--muted)" : seriesStyle(index).stroke);

/** The means of a line, with the ends of their intervals. */
function Means({ index, points, y }: { index: number; points: readonly Drawn[]; y: (value: number) => number }) {
  const [first] = points;
  if (!first) return null;
  return (
    <g style={{ stroke: strokeOf(first) }}>
      <path class="series" d={linePath(points.map(({ x, y }) => [x, y] as const))} stroke-dasharray={(first.isControl ? "2 4" : seriesStyle(index).dashes) || undefined} />
      {points.filter(({ mark }) => mark.low !== null).map(({ mark, x }) => (
        <path key={mark.setting} class="interval" d={`M${x - 4} ${y(mark.low!)}h8m-4 0V${y(mark.high!)}m-4 0h8`} />
      ))}
    </g>
  );
}

/** The cases as small points, each of which opens its conversations. */
function Cases({ drawn, open }: { drawn: readonly Drawn[]; open: OpenMark }) {
  return (
    <g class="cases">
      {drawn.filter(({ mark }) => mark.case !== null).map((point, index) => (
        <circle key={index} class="case" cx={point.x} cy={point.y} r={3.2} style={{ fill: strokeOf(point) }} onClick={() => open(point.mark.setting, point.mark.case)}>
          <title>{`${point.mark.setting}, ${point.mark.case}: ${figure(point.mark.value)}`}</title>
        </circle>
      ))}
    </g>
  );
}

/** The means as large points; those of a control are hollow, and have no conversations here. */
function Heads({ drawn, open }: { drawn: readonly Drawn[]; open: OpenMark }) {
  return (
    <>
      {drawn.filter(({ mark }) => mark.case === null).map((point, index) => (
        <circle
          key={index}
          class={point.isControl ? "mean hollow" : "mean"}
          cx={point.x}
          cy={point.y}
          r={point.isControl ? 4 : 5.5}
          style={point.isControl ? { stroke: strokeOf(point) } : { fill: strokeOf(point) }}
          onClick={() => !point.isControl && open(point.mark.setting, null)}
        >
          <title>{`${point.mark.setting}, ${point.isControl ? "control" : "mean over cases"}: ${figure(point.mark.value)}`}</title>
        </circle>
      ))}
    </>
  );
}

/** What the keys have chosen. */
function Ring({ drawn, chosen }: { drawn: readonly Drawn[]; chosen: Mark | undefined }) {
  const point = chosen && drawn.find(({ mark, isControl }) => !isControl && mark.setting === chosen.setting && mark.case === chosen.case);
  return point ? <circle class="ring" cx={point.x} cy={point.y} r={9} /> : null;
}

function places(labels: readonly string[], width: number): { places: { x: number; y: number }[]; height: number } {
  let [x, y] = [0, 0];
  const found = labels.map((label) => {
    const wide = 30 + textWidth(label) + 16;
    if (x > 0 && x + wide > width) [x, y] = [0, y + 20];
    const place = { x, y };
    x += wide;
    return place;
  });
  return { places: found, height: y + 20 };
}

function Key({ labels, meanings, places, x }: { labels: readonly string[]; meanings: readonly string[]; places: readonly { x: number; y: number }[]; x: number }) {
  return (
    <g class="legend" transform={`translate(${x} 0)`}>
      {labels.map((label, index) => {
        const isControl = label.startsWith("control:");
        const stroke = isControl ? "var(--muted)" : seriesStyle(index).stroke;
        return (
          <g key={index} transform={`translate(${places[index]!.x} ${places[index]!.y})`} style={{ stroke }}>
            <path class="series" d="M0 7H24" stroke-dasharray={(isControl ? "2 4" : seriesStyle(index).dashes) || undefined} />
            <circle class={isControl ? "mean hollow" : "mean"} cx={12} cy={7} r={4} style={isControl ? {} : { fill: stroke }} />
            <text x={30} y={7} dy="0.32em" style={{ stroke: "none" }}>{label}</text>
            {meanings[index] && <title>{meanings[index]}</title>}
          </g>
        );
      })}
    </g>
  );
}

// --- the table ------------------------------------------------------------------------------------------------------

const COLUMNS = (axis: Axis | null) => [
  "setting", ...(axis ? [axisName(axis.parameter)] : []), "case", "value", "95 % from", "to", "minus baseline", "from", "to ", "control",
];

/** Return the figures as rows: each setting's mean, then its cases. */
function rowsOf(measure: Measure, axis: Axis | null): Cell[][] {
  return measure.settings.flatMap((figures) => {
    const place = axis ? [axis.values[figures.setting] ?? null] : [];
    const { difference, control, interval } = figures;
    const mean = [
      figures.setting, ...place, "mean", figures.value, interval?.[0] ?? null, interval?.[1] ?? null,
      difference?.value ?? null, difference?.interval?.[0] ?? null, difference?.interval?.[1] ?? null, control?.value ?? null,
    ];
    const cases = measure.cases.map((name, index) => [
      figures.setting, ...place, name, figures.by_case[index] ?? null, null, null, null, null, null, control?.by_case[index] ?? null,
    ]);
    return [mean, ...cases.filter((row) => row[place.length + 2] !== null)];
  });
}

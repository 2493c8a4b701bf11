/** A day of a town: who is where at which hour, and who talks there; in a narrow window as a list by hour. */

import { scaleLinear } from "d3-scale";
import { useMemo } from "preact/hooks";
import { WithDocument } from "../components/parts";
import { BottomAxis, Plot, textWidth } from "../components/plot";
import { colourOf, shapeOf, Speaker } from "../components/speakers";
import { useIsNarrow } from "../components/width";
import { counted, listed } from "../format";
import { hrefOf } from "../router";
import { useDocument } from "../use_document";
import type { DayOfTown, Encounter, Town } from "./town_documents";
import { clock, hoursOf, meetingOf, minuteOf, type Band, type Row, rowsOf } from "./town_lanes";
import { Conversation } from "./town_encounters";

/** Places that are drawn: those in which people talk come first. */
const MOST_PLACES = 40;
const [BETWEEN, TOP, BOTTOM, WIDTH] = [7, 22, 40, 1240] as const;
/** Half the width of the mark of a conversation, and how high a lane is: lower where there are many. */
const RADIUS = 9;
const laneOf = (rows: readonly Row[]) => (rows.reduce((sum, { lanes }) => sum + lanes, 0) > 40 ? 16 : 19);
const UNKNOWN = "place not known";

interface DayProps {
  readonly town: Town;
  readonly day: number;
  readonly encounters: readonly Encounter[];
  /** Grows when runs of the store have changed. */
  readonly version: number;
}

export function WhereTheyAre({ town, day, encounters, version }: DayProps) {
  const found = useDocument<DayOfTown>(`towns/${encodeURIComponent(town.simulation)}/days/${day}`, version);
  return (
    <section class="stack where">
      <h2>Who is where</h2>
      <WithDocument of={found}>{(found) => <Shown town={town} day={found} encounters={encounters} />}</WithDocument>
    </section>
  );
}

function Shown({ town, day, encounters }: { town: Town; day: DayOfTown; encounters: readonly Encounter[] }) {
  const rows = useMemo(() => rowsOf(day), [day]);
  const theirs = useMemo(() => {
    const names = new Set(day.people.map(({ name }) => name));
    return encounters.filter(({ initiator, partner }) => names.has(initiator) || names.has(partner));
  }, [day, encounters]);
  const isNarrow = useIsNarrow();
  if (!isNarrow && rows.every(({ roof }) => roof === null)) return <p class="muted">Where people are is not known: their days have no places.</p>;
  return (
    <>
      {isNarrow ? <ByHour town={town} rows={rows} encounters={theirs} /> : <Chart town={town} day={day} rows={rows} encounters={theirs} />}
      {day.more > 0 && <p class="small muted">People left out: {day.more.toLocaleString("en")}. Those who met somebody come first.</p>}
    </>
  );
}

// --- places by hours ------------------------------------------------------------------------------------------------

interface ChartProps {
  readonly town: Town;
  readonly day: DayOfTown;
  readonly rows: readonly Row[];
  readonly encounters: readonly Encounter[];
}

function Chart({ town, day, rows, encounters }: ChartProps) {
  const talkedIn = new Set(encounters.map((encounter) => meetingOf(rows, encounter)?.row));
  const chosen = new Set([...rows].sort((a, b) => Number(talkedIn.has(b)) - Number(talkedIn.has(a))).slice(0, MOST_PLACES));
  const shown = rows.filter((row) => chosen.has(row));
  const lane = laneOf(shown);
  const height = TOP + BOTTOM + shown.reduce((sum, { lanes }) => sum + lanes * lane + BETWEEN, 0);
  const left = rows.length - shown.length;
  return (
    <Plot
      title={`Day ${day.day}: places by hours`}
      name={`${town.simulation}-day-${day.day}`}
      note={`A band is a person at a place, while they are awake. A numbered mark is a conversation: select it to read it; its first line stands under the same number below.${left ? ` ${counted(left, "place")} where nobody talked ${left === 1 ? "is" : "are"} left out; the table has all.` : ""}`}
      columns={["person", "from", "until", "place", "asleep", "activity"]}
      rows={day.people.flatMap(({ name, stays }) => stays.map(({ begins, ends, place, asleep, activity }) => [name, clock(begins), clock(ends), place, asleep ? "asleep" : "", activity]))}
      width={WIDTH}
      height={height}
      hasLinks
    >
      {(width) => <Drawing people={town.people} rows={shown} encounters={encounters} width={width} height={height} />}
    </Plot>
  );
}

interface DrawingProps {
  readonly people: readonly string[];
  readonly rows: readonly Row[];
  readonly encounters: readonly Encounter[];
  readonly width: number;
  readonly height: number;
}

function Drawing({ people, rows, encounters, width, height }: DrawingProps) {
  const names = firstNames(people);
  const left = Math.min(0.22 * width, Math.max(...rows.map(({ roof }) => textWidth(roof ?? UNKNOWN))) + 22);
  const most = Math.floor((left - 16) / 6.8);
  const bands = rows.flatMap((row) => row.bands);
  const [first, last] = [Math.min(...bands.map(({ begins }) => begins)), Math.max(...bands.map(({ ends }) => ends))];
  const x = scaleLinear([60 * Math.floor(first / 60), 60 * Math.ceil(last / 60)], [left, width - 22]);
  const [from, to] = x.domain() as [number, number];
  const step = Math.ceil((to - from) / 60 / Math.floor((width - left) / 50));
  const hours = Array.from({ length: Math.floor((to - from) / 60 / step) + 1 }, (_, index) => from + 60 * step * index);
  const lane = laneOf(rows);
  const tops = topsOf(rows, lane);
  const marks = encounters.flatMap((encounter) => {
    const met = meetingOf(rows, encounter);
    return met ? [{ encounter, met, at: x(minuteOf(encounter.time)) }] : [];
  });
  return (
    <g class="day">
      {rows.map((row, index) => {
        const label = row.roof ?? UNKNOWN;
        const [top, middle] = [tops.get(row)!, tops.get(row)! + (row.lanes * lane) / 2];
        return (
          <g key={label}>
            <rect class={index % 2 ? "row other" : "row"} x={0} y={top - BETWEEN / 2} width={width} height={row.lanes * lane + BETWEEN} />
            <text class="data" x={left - 8} y={middle} dy="0.32em" text-anchor="end">
              {label.length > most ? `${label.slice(0, most - 1)}…` : label}
              <title>{label}</title>
            </text>
          </g>
        );
      })}
      {hours.map((hour) => <line key={hour} class="hour" x1={x(hour)} x2={x(hour)} y1={TOP} y2={height - BOTTOM} />)}
      {rows.flatMap((row) => row.bands.map((band, index) => {
        const over = marks.filter(({ met }) => met.row === row && band.lane >= Math.min(...met.lanes) && band.lane <= Math.max(...met.lanes)).map(({ at }) => at);
        const name = names.get(band.name) ?? band.name;
        return <OneBand key={`${row.roof} ${index}`} people={people} band={band} shortened={name} x={x(band.begins)} end={x(band.ends)} y={tops.get(row)! + band.lane * lane} height={lane} over={over} />;
      }))}
      {marks.map(({ encounter, met, at }) => {
        const lanes = met.lanes.map((number) => tops.get(met.row)! + (number + 0.5) * lane);
        return <Mark key={encounter.number} encounter={encounter} x={at} from={Math.min(...lanes)} to={Math.max(...lanes)} />;
      })}
      <BottomAxis scale={x.copy().domain([from, to])} at={height - BOTTOM} count={0} label="time of day" />
      {hours.flatMap((hour) => [TOP - 6, height - BOTTOM + 16].map((y) => <text key={`${hour} ${y}`} class="tick" x={x(hour)} y={y} text-anchor="middle">{clock(hour)}</text>))}
    </g>
  );
}

function topsOf(rows: readonly Row[], lane: number): ReadonlyMap<Row, number> {
  let top = TOP + BETWEEN / 2;
  return new Map(rows.map((row) => [row, (top += row.lanes * lane + BETWEEN) - row.lanes * lane - BETWEEN]));
}

/** Return people's first names where these tell them apart. */
function firstNames(people: readonly string[]): ReadonlyMap<string, string> {
  const first = (name: string) => name.split(/\s/)[0]!;
  const isTold = new Set(people.map(first)).size === people.length;
  return new Map(people.map((name) => [name, isTold ? first(name) : name]));
}

interface BandProps {
  readonly people: readonly string[];
  readonly band: Band;
  readonly shortened: string;
  readonly x: number;
  readonly end: number;
  readonly y: number;
  readonly height: number;
  /** Where marks of conversations lie over it: its name stands behind them. */
  readonly over: readonly number[];
}

function OneBand({ people, band, shortened, x, end, y, height, over }: BandProps) {
  const colour = colourOf(people, band.name);
  const [width, wide] = [end - x, textWidth(shortened)];
  const at = [...over].sort((a, b) => a - b).reduce((at, mark) => (mark > at - RADIUS && mark < at + wide + RADIUS ? mark + RADIUS + 3 : at), x + 16);
  return (
    <g>
      <rect class="band" x={x + 0.5} y={y + 1.5} width={Math.max(1, width - 1)} height={height - 3} rx={3} style={{ fill: colour, stroke: colour }} />
      {width >= 16 && <path transform={`translate(${x + 3} ${y + height / 2 - 5}) scale(0.83)`} d={shapeOf(people, band.name)} style={{ fill: colour }} />}
      {at + wide + 1 <= end && <text class="data" x={at} y={y + height / 2} dy="0.34em">{shortened}</text>}
      <title>{`${band.name}, ${clock(band.begins)} to ${clock(band.ends)}: ${band.places.join(", then ") || UNKNOWN}`}</title>
    </g>
  );
}

/** A conversation, from the lane of one to that of the other. */
function Mark({ encounter, x, from, to }: { encounter: Encounter; x: number; from: number; to: number }) {
  const { time, place, initiator, partner, speaker, first_line, run, number } = encounter;
  const said = first_line === null ? "" : `. ${speaker}: “${first_line}”`;
  const words = `${number}: ${time.slice(11, 16)}, ${listed([initiator, partner])}, ${place ?? UNKNOWN}${said}`;
  const drawn = (
    <>
      <line x1={x} x2={x} y1={from} y2={to} />
      <circle cx={x} cy={(from + to) / 2} r={Math.max(RADIUS, textWidth(String(number)) / 2 + 3)} />
      <text x={x} y={(from + to) / 2} dy="0.34em" text-anchor="middle">{number}</text>
      <title>{words}</title>
    </>
  );
  return run ? <a class="met" href={hrefOf(["runs", run])} aria-label={words}>{drawn}</a> : <g class="met">{drawn}</g>;
}

// --- by hour --------------------------------------------------------------------------------------------------------

function ByHour({ town, rows, encounters }: { town: Town; rows: readonly Row[]; encounters: readonly Encounter[] }) {
  const hours = useMemo(() => hoursOf(rows), [rows]);
  return (
    <ol class="by-hour">
      {hours.map(({ hour, changed }) => {
        const met = encounters.filter(({ time }) => Math.floor(minuteOf(time) / 60) === hour);
        if (!changed.length && !met.length) return null;
        return (
          <li key={hour} class="stack">
            <h3>{clock(60 * hour)}</h3>
            {met.length > 0 && <ol class="encounters">{met.map((encounter) => <Conversation key={encounter.number} town={town} encounter={encounter} />)}</ol>}
            {changed.map(({ roof, names }) => (
              <p key={roof} class="small">
                <span class="muted data">{roof ?? UNKNOWN}: </span>
                {names.map((name, index) => <span key={name}>{index > 0 && ", "}<Speaker people={town.people} name={name} /></span>)}
              </p>
            ))}
          </li>
        );
      })}
    </ol>
  );
}

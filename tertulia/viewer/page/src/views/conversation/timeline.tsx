/** A conversation along its simulated clock: a lane for each speaker, a bar for each utterance. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { colourOf, Mark } from "../../components/speakers";
import { useIsNarrow } from "../../components/width";
import { elapsed, margin } from "../../format";
import { goWith, usePlace } from "../../router";
import { endOf, marks, nearest, spanEnd, timeOfDay, within } from "./clock";
import type { ConversationTurn, RunInFull } from "./documents";
import { Comings, Lanes, Silences, Utterances } from "./lanes";
import type { Playback, Range } from "./playback";
import { PlaybackBar } from "./playback";
import { AXIS, LANE } from "./sizes";

/** Pixels a second that can be chosen besides what shows all. */
const ZOOMS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64];
/** No browser draws what is wider. */
const WIDEST = 12_000_000;

interface TimelineProps {
  readonly run: RunInFull;
  readonly turns: readonly ConversationTurn[];
  readonly chosen: number;
  readonly range: Range;
  readonly choose: (index: number) => void;
  readonly playback: Playback;
}

export function Timeline({ run, turns, chosen, range, choose, playback }: TimelineProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const lanes = useRef<HTMLDivElement>(null);
  const isNarrow = useIsNarrow();
  const [view, setView] = useState({ left: 0, width: 0, top: 0 });
  const zoom = Number(usePlace().query.zoom ?? 0);
  const end = endOf(turns);
  const fit = Math.max(1, view.width - 8) / end;
  const scale = Math.min(zoom > fit ? zoom : fit, WIDEST / end);
  const height = AXIS + run.people.length * LANE;

  useLayoutEffect(() => {
    const element = scroller.current!;
    const all = lanes.current!;
    const look = () => setView({ left: element.scrollLeft, width: element.clientWidth, top: all.scrollTop });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    for (const scrolled of [element, all]) scrolled.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      for (const scrolled of [element, all]) scrolled.removeEventListener("scroll", look);
    };
  }, []);

  const turn = turns[chosen];
  useEffect(() => {
    const element = scroller.current!;
    if (!turn || !view.width) return;
    const at = turn.sim_time_s * scale;
    if (at < element.scrollLeft + 8 || at > element.scrollLeft + view.width - 40) element.scrollLeft = at - view.width / 3;
    const lane = run.people.indexOf(turn.speaker ?? "");
    const all = lanes.current!;
    if (lane >= 0 && (lane * LANE < all.scrollTop || (lane + 1) * LANE + AXIS > all.scrollTop + all.clientHeight)) {
      all.scrollTop = (lane + 0.5) * LANE + AXIS - all.clientHeight / 2;
    }
  }, [turn?.turn, scale, view.width > 0]);

  const from = view.left / scale;
  const to = (view.left + view.width) / scale;
  const [first, last] = within(turns, from, to);
  const drawn = { run, turns, first, last, scale, left: view.left, height };
  const bars = useMemo(
    () => view.width > 0 && <><Lanes {...drawn} width={view.width} /><Silences {...drawn} /><Utterances {...drawn} /><Comings {...drawn} /></>,
    [run, turns, first, last, scale, view.left, view.width],
  );
  const onClick = (event: MouseEvent) => {
    const box = scroller.current!.getBoundingClientRect();
    if (turns.length) choose(nearest(turns, (event.clientX - box.left + scroller.current!.scrollLeft) / scale));
  };

  return (
    <section class="timeline" aria-label="Timeline">
      <div class="row timeline-bar">
        <PlaybackBar playback={playback} turn={turn} range={range} choose={choose} />
        <Zoom scale={scale} fit={fit} />
      </div>
      <div class="lanes" ref={lanes}>
        <ul class="lane-names" style={{ paddingTop: `${AXIS}px` }}>
          {run.people.map((name) => (
            <li key={name} style={{ height: `${LANE}px`, color: colourOf(run.people, name) }} title={name}>
              <Mark people={run.people} name={name} />
              <bdi class="lane-name">{name}</bdi>
            </li>
          ))}
        </ul>
        {/* The keys of the conversation work here; the bars are drawings, and each is a line of the transcript. */}
        <div class="scroller clock" ref={scroller} tabIndex={0} role="group" aria-label={`${turns.length} turns along the simulated clock; arrow keys choose one`} onClick={onClick}>
          <div style={{ width: `${Math.max(1, Math.floor(end * scale))}px`, height: `${height}px` }}>
            <svg class="clock-face" width={view.width} height={height} aria-hidden="true">
              <Grid from={from} to={to} scale={scale} left={view.left} height={height} />
              {bars}
              {turn && <Chosen {...drawn} index={chosen} />}
              <Axis run={run} from={from} to={to} scale={scale} left={view.left} width={view.width} top={view.top} chosen={turn} />
              <Now playback={playback} scale={scale} left={view.left} height={height} />
            </svg>
          </div>
        </div>
      </div>
      {!isNarrow && <WhoCame run={run} turns={turns} />}
    </section>
  );
}

function Zoom({ scale, fit }: { scale: number; fit: number }) {
  const nearer = ZOOMS.find((zoom) => zoom > scale * 1.01);
  const farther = ZOOMS.findLast((zoom) => zoom < scale * 0.99);
  const show = (zoom: number | undefined) => goWith({ zoom: zoom === undefined || zoom <= fit ? null : zoom });
  return (
    <span class="row zoom" role="group" aria-label="Zoom">
      <button onClick={() => goWith({ zoom: null })} aria-pressed={scale <= fit * 1.001}>Fit</button>
      <button onClick={() => show(farther)} disabled={scale <= fit * 1.001} aria-label="Zoom out">−</button>
      <button onClick={() => show(nearer)} disabled={nearer === undefined} aria-label="Zoom in">+</button>
    </span>
  );
}

interface Part {
  readonly scale: number;
  readonly left: number;
  readonly height: number;
}

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly scale: number;
  readonly left: number;
}

/** Pixels between two marks of the axis at least. */
const APART = 130;

function Grid({ from, to, scale, left, height }: Stretch & { height: number }) {
  return (
    <g class="axis">
      {marks(from, to, scale, APART).at.map((time) => {
        const x = Math.round(time * scale - left) + 0.5;
        return <line key={time} x1={x} x2={x} y1={AXIS} y2={height} />;
      })}
    </g>
  );
}

/** Elapsed time and time of day, which stay in view above the lanes, and where the chosen turn begins. */
function Axis({
  run,
  from,
  to,
  scale,
  left,
  width,
  top,
  chosen,
}: Stretch & { run: RunInFull; width: number; top: number; chosen: ConversationTurn | undefined }) {
  const { step, at } = marks(from, to, scale, APART);
  return (
    <g class="axis" transform={`translate(0 ${top})`}>
      <rect width={width} height={AXIS - 1} />
      {at.map((time) => {
        const x = Math.round(time * scale - left) + 0.5;
        return (
          <g key={time}>
            <line x1={x} x2={x} y1={4} y2={AXIS} />
            <text x={x + 4} y={14}>{elapsed(time)} <tspan class="time-of-day">{timeOfDay(run.begins, time, step < 60)}</tspan></text>
          </g>
        );
      })}
      {chosen && <path class="pointer" d={`M${chosen.sim_time_s * scale - left} ${AXIS}l-3 -4h6Z`} />}
    </g>
  );
}

/** The chosen turn, and the bids that it was chosen among: a tick in the lane of each who raced, at their latency. */
function Chosen({ run, turns, index, scale, left, height }: Part & { run: RunInFull; turns: readonly ConversationTurn[]; index: number }) {
  const turn = turns[index]!;
  const x = turn.sim_time_s * scale - left;
  const width = Math.max(3, (spanEnd(turns, index) - turn.sim_time_s) * scale);
  const lane = turn.speaker === null ? -1 : run.people.indexOf(turn.speaker);
  const y = lane < 0 ? AXIS + 1 : AXIS + lane * LANE + 1;
  const won = turn.bids.find((bid) => bid.won)?.latency_s;
  return (
    <g class="chosen">
      <line x1={x} x2={x} y1={AXIS} y2={height} />
      <rect x={x - 1.5} y={y} width={width + 3} height={lane < 0 ? height - AXIS - 2 : LANE - 2} rx={3} />
      {won !== null && won !== undefined &&
        turn.bids.map((bid) => {
          const place = run.people.indexOf(bid.agent);
          if (bid.won || bid.latency_s === null || place < 0) return null;
          const at = x + (bid.latency_s - won) * scale;
          const centre = AXIS + place * LANE + LANE / 2;
          const isFree = !coversBar(turns, bid.agent, (at + left) / scale, (at + left + LABEL) / scale);
          return (
            <g key={bid.agent} class="losing">
              <line x1={at} x2={at} y1={centre - 8} y2={centre + 8} />
              {isFree && <text x={at + 4} y={centre + 4}>{margin(bid.latency_s - won)} s</text>}
            </g>
          );
        })}
    </g>
  );
}

/** Pixels that a figure beside a tick takes. */
const LABEL = 58;

/** Whether what stands in the lane of a speaker between two moments would lie over one of their bars. */
function coversBar(turns: readonly ConversationTurn[], speaker: string, from: number, to: number): boolean {
  const [first, last] = within(turns, from, to);
  return turns.slice(first, last + 1).some((turn, offset) =>
    turn.speaker === speaker && turn.sim_time_s < to && spanEnd(turns, first + offset) > from);
}

/** Where the simulated clock stands, moved without drawing the rest anew. */
function Now({ playback, scale, left, height }: Part & { playback: Playback }) {
  const line = useRef<SVGLineElement>(null);
  useLayoutEffect(
    () => playback.watch((seconds) => line.current?.setAttribute("transform", `translate(${seconds * scale - left} 0)`)),
    [scale, left],
  );
  return <line ref={line} class={`now ${playback.isPlaying ? "moving" : ""}`} y1={AXIS - 6} y2={height} />;
}

/** Who came and left, in words; in a narrow window they stand above the transcript. */
export function WhoCame({ run, turns }: { run: RunInFull; turns: readonly ConversationTurn[] }) {
  const end = endOf(turns);
  const changes = run.stays
    .flatMap(({ agent, joins_s, leaves_s, leaves_for }) => [
      ...(joins_s !== null && joins_s > 0 ? [{ agent, at: joins_s, did: "came", why: null }] : []),
      ...(leaves_s !== null ? [{ agent, at: leaves_s, did: "left", why: leaves_for }] : []),
    ])
    .filter((change) => change.at <= end)
    .sort((a, b) => a.at - b.at);
  if (!changes.length) return null;
  return (
    <p class="muted small">
      {changes.map(({ agent, at, did, why }, place) => (
        <span key={`${did} ${agent}`}>
          {place ? " · " : ""}
          <bdi>{agent}</bdi> {did} at {timeOfDay(run.begins, at, false)}
          {why && <> (<bdi>{why}</bdi>)</>}
        </span>
      ))}
    </p>
  );
}

/** What is drawn in the lanes of the timeline: who is there, silences, utterances, and who else wanted the floor. */

import { colourOf } from "../../components/speakers";
import { timeOfDay, spanEnd } from "./clock";
import type { ConversationTurn, RunInFull } from "./documents";
import { AXIS, LANE } from "./sizes";

/** Below so many pixels a second bars are drawn as one outline for each speaker; from so many on bids are drawn. */
const ONE_BY_ONE = 1.2;
const WITH_BIDS = 6;

const BAR = 16;
const INSET = (LANE - BAR) / 2;
/** Of a letter in a bar, about. */
const LETTER = 7.4;

interface Drawn {
  readonly run: RunInFull;
  readonly turns: readonly ConversationTurn[];
  /** The first and the last turn in view. */
  readonly first: number;
  readonly last: number;
  readonly scale: number;
  readonly left: number;
  readonly height: number;
}

/** A line for each lane, broken where its speaker is not there. */
export function Lanes({ run, scale, left, width }: Drawn & { width: number }) {
  const stays = new Map(run.stays.map((stay) => [stay.agent, stay]));
  return (
    <g class="lane-lines">
      {run.people.map((name, index) => {
        const y = AXIS + index * LANE + LANE / 2;
        const stay = stays.get(name);
        const joins = Math.max(0, (stay?.joins_s ?? 0) * scale - left);
        const leaves = Math.min(width, stay?.leaves_s === null || stay?.leaves_s === undefined ? width : stay.leaves_s * scale - left);
        return (
          <g key={name}>
            {joins > 0 && <line class="absent" x1={0} x2={Math.min(width, joins)} y1={y} y2={y} />}
            {leaves > joins && <line x1={joins} x2={leaves} y1={y} y2={y} />}
            {leaves < width && <line class="absent" x1={Math.max(0, leaves)} x2={width} y1={y} y2={y} />}
          </g>
        );
      })}
    </g>
  );
}

/** Where somebody comes and leaves, in words; over the bars. */
export function Comings({ run, scale, left }: Drawn) {
  return (
    <g>
      {run.stays.map(({ agent, joins_s, leaves_s }) => {
        const y = AXIS + run.people.indexOf(agent) * LANE + LANE / 2;
        const at = (seconds: number) => timeOfDay(run.begins, seconds, false);
        return (
          <g key={agent}>
            {joins_s !== null && joins_s > 0 && <Coming x={joins_s * scale - left} y={y} words={`comes ${at(joins_s)}`} isLeft />}
            {leaves_s !== null && <Coming x={leaves_s * scale - left} y={y} words={`leaves ${at(leaves_s)}`} />}
          </g>
        );
      })}
    </g>
  );
}

function Coming({ x, y, words, isLeft }: { x: number; y: number; words: string; isLeft?: boolean }) {
  return (
    <g class="coming">
      <path d={isLeft ? `M${x} ${y - 8}v16M${x - 9} ${y}h8m-4 -4l4 4l-4 4` : `M${x} ${y - 8}v16M${x + 1} ${y}h8m-4 -4l4 4l-4 4`} />
      <text x={isLeft ? x - 13 : x + 13} y={y + 4} text-anchor={isLeft ? "end" : "start"}>{words}</text>
    </g>
  );
}

/** Silences over all lanes, hatched. */
export function Silences({ turns, first, last, scale, left, height }: Drawn) {
  const silences = turns.slice(first, last + 1).filter((turn) => turn.speaker === null);
  return (
    <g class="silences">
      <defs>
        <pattern id="hatched" width={6} height={6} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <line x1={0} x2={0} y1={0} y2={6} />
        </pattern>
      </defs>
      {silences.map((turn) => {
        const width = Math.max(1.5, turn.duration_s * scale);
        const x = turn.sim_time_s * scale - left;
        return (
          <g key={turn.turn}>
            <rect x={x} y={AXIS} width={width} height={height - AXIS} fill="url(#hatched)" />
            {width > 60 && <text x={x + width / 2} y={AXIS + 14} text-anchor="middle">silence</text>}
          </g>
        );
      })}
    </g>
  );
}

/** The utterances in view. */
export function Utterances(drawn: Drawn) {
  return drawn.scale < ONE_BY_ONE ? <Outlines {...drawn} /> : <Bars {...drawn} />;
}

/** All bars of a speaker as one outline: thousands of turns at once. */
function Outlines({ run, turns, first, last, scale, left }: Drawn) {
  const paths = new Map<string, string[]>();
  for (let index = first; index <= last; index++) {
    const { speaker, sim_time_s } = turns[index]!;
    const lane = speaker === null ? -1 : run.people.indexOf(speaker);
    if (lane < 0) continue;
    const width = Math.max(1, (spanEnd(turns, index) - sim_time_s) * scale - 0.5);
    const bar = `M${(sim_time_s * scale - left).toFixed(1)} ${AXIS + lane * LANE + INSET}h${width.toFixed(1)}v${BAR}h-${width.toFixed(1)}Z`;
    const bars = paths.get(speaker!) ?? [];
    bars.push(bar);
    paths.set(speaker!, bars);
  }
  return (
    <g class="bars">
      {[...paths].map(([name, bars]) => <path key={name} d={bars.join("")} fill={colourOf(run.people, name)} />)}
    </g>
  );
}

function Bars({ run, turns, first, last, scale, left }: Drawn) {
  return (
    <g class="bars">
      {turns.slice(first, last + 1).map((turn, offset) => {
        const lane = turn.speaker === null ? -1 : run.people.indexOf(turn.speaker);
        if (lane < 0) return null;
        const x = turn.sim_time_s * scale - left;
        const width = Math.max(2, (spanEnd(turns, first + offset) - turn.sim_time_s) * scale);
        const y = AXIS + lane * LANE + INSET;
        return (
          <g key={turn.turn} data-turn={turn.turn}>
            <rect class={turn.turn ? "" : "opening"} x={x} y={y} width={width} height={BAR} rx={2} fill={colourOf(run.people, turn.speaker!)} />
            {width > 22 && <text x={x + 4} y={y + 12.5}>{label(turn, Math.floor((width - 8) / LETTER))}</text>}
            {scale >= WITH_BIDS && <Losing run={run} turn={turn} x={x} scale={scale} />}
          </g>
        );
      })}
    </g>
  );
}

/** Return as much of a turn as there is room for: its number, and its first words. */
function label(turn: ConversationTurn, letters: number): string {
  const words = turn.turn ? `${turn.turn}  ${turn.text.slice(0, 400)}` : `opening  ${turn.text.slice(0, 400)}`;
  if (letters < 8) return turn.turn ? String(turn.turn) : "";
  const shown = Array.from(words.replace(/\s+/gu, " "));
  return shown.length <= letters ? shown.join("") : `${shown.slice(0, letters - 1).join("")}…`;
}

/** A tick for everybody who raced for a turn and lost, where they would have begun. */
function Losing({ run, turn, x, scale }: { run: RunInFull; turn: ConversationTurn; x: number; scale: number }) {
  const won = turn.bids.find((bid) => bid.won)?.latency_s;
  if (won === null || won === undefined) return null;
  return (
    <>
      {turn.bids.map((bid) => {
        const lane = run.people.indexOf(bid.agent);
        if (bid.won || bid.latency_s === null || lane < 0) return null;
        const at = x + (bid.latency_s - won) * scale;
        return <path key={bid.agent} class="losing-tick" d={`M${at} ${AXIS + lane * LANE + INSET}v${BAR}`} stroke={colourOf(run.people, bid.agent)} />;
      })}
    </>
  );
}

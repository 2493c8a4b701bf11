/** The race for the floor: for everybody who raced the distribution of their latency, and what was drawn. */

import { useRef } from "preact/hooks";
import { Term } from "../../components/explained";
import { colourOf, shapeOf } from "../../components/speakers";
import { useWidth } from "../../components/width";
import { margin, number } from "../../format";
import type { Mind, MindParameters } from "./documents";
import { density, late } from "./latency";

const [ROW, AXIS] = [34, 22];
/** The widest that the plot is drawn. */
const WIDEST = 760;
const POINTS = 90;

interface RaceProps {
  readonly minds: readonly Mind[];
  readonly people: readonly string[];
  readonly parameters: MindParameters;
  /** How often willingness was looked at: latencies count from the last time. */
  readonly looks: number;
}

export function Race({ minds, people, parameters, looks }: RaceProps) {
  const box = useRef<HTMLElement>(null);
  const width = Math.min(WIDEST, useWidth(box, 280));
  const [names, values] = width < 480 ? [86, 112] : [130, 116];
  const racers = minds.filter((mind) => mind.latency_s !== null);
  if (!racers.length) return null;
  const winner = racers.find((mind) => mind.won);
  const form = parameters.latency_form;
  const end = 1.05 * Math.max(...racers.flatMap((mind) => [mind.latency_s!, isDrawn(mind, parameters) ? late(drawOf(mind), form) : 0]));
  const x = (seconds: number) => names + (seconds / end) * (width - names - values);
  const height = racers.length * ROW + AXIS;
  const step = [0.5, 1, 2, 5, 10, 20, 60].find((step) => (end / step) * 40 <= width - names - values) ?? end;
  const ticks = Array.from({ length: Math.floor(end / step) + 1 }, (_, index) => index * step);
  return (
    <figure class="plot race" ref={box}>
      <figcaption>
        <span>
          Drawn <Term of="latency">latencies</Term> in seconds{looks > 1 && ", counted from the last look at willingness"}, on the
          distributions that they were drawn from
        </span>
      </figcaption>
      <svg width={width} height={height} role="img" aria-label={described(racers, winner)}>
        <g class="grid">{ticks.map((tick) => <line key={tick} x1={x(tick)} x2={x(tick)} y1={0} y2={height - AXIS} />)}</g>
        <g class="axis">
          <line x1={names} x2={width - values} y1={height - AXIS} y2={height - AXIS} />
          {ticks.map((tick) => <text key={tick} x={x(tick)} y={height - 6} text-anchor="middle">{tick} s</text>)}
        </g>
        {racers.map((mind, index) => {
          const base = (index + 1) * ROW - 4;
          const behind = winner && mind !== winner ? mind.latency_s! - winner.latency_s! : null;
          return (
            <g key={mind.agent} class={mind.won ? "winner" : ""}>
              <text x={0} y={base - 6}><tspan class="racer">{short(mind.agent, width < 480 ? 12 : 18)}</tspan></text>
              {isDrawn(mind, parameters) && (
                <path class="density" d={outline(mind, parameters, x, base, end)} stroke={colourOf(people, mind.agent)} fill={colourOf(people, mind.agent)} />
              )}
              <line class="draw" x1={x(mind.latency_s!)} x2={x(mind.latency_s!)} y1={base - ROW + 10} y2={base} stroke={colourOf(people, mind.agent)} />
              <path
                d={shapeOf(people, mind.agent)}
                transform={`translate(${x(mind.latency_s!) - 6} ${base - 6})`}
                fill={mind.won ? colourOf(people, mind.agent) : "var(--surface)"}
                stroke={colourOf(people, mind.agent)}
                stroke-width={1.5}
              />
              <text x={width} y={base - 6} text-anchor="end">
                {number(mind.latency_s)} s {mind.won ? "→ floor" : behind === null ? "" : margin(behind)}
              </text>
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

/** Whether a latency was drawn; a person takes as long as they take, where the clock runs. */
function isDrawn(mind: Mind, parameters: MindParameters): boolean {
  return mind.latency_scale_s !== null && !(mind.willingness_parts === null && parameters.seat_clock === "runs");
}

function drawOf(mind: Mind) {
  return {
    latency_scale_s: mind.latency_scale_s!,
    latency_spread_s: mind.latency_spread_s ?? 0,
    persistence: mind.persistence ?? 1,
    yielded_s: mind.yielded_s ?? 0,
  };
}

function outline(mind: Mind, parameters: MindParameters, x: (seconds: number) => number, base: number, end: number): string {
  const draw = drawOf(mind);
  const times = Array.from({ length: POINTS + 1 }, (_, index) => (index / POINTS) * end);
  const heights = times.map((time) => density(time, draw, parameters.latency_form));
  const highest = Math.max(...heights) || 1;
  const points = times.map((time, index) => `${x(time).toFixed(1)} ${(base - (heights[index]! / highest) * (ROW - 12)).toFixed(1)}`);
  return `M${x(0)} ${base}L${points.join("L")}L${x(end)} ${base}Z`;
}

function short(name: string, most: number): string {
  const letters = Array.from(name);
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
}

function described(racers: readonly Mind[], winner: Mind | undefined): string {
  const draws = racers.map((mind) => `${mind.agent} ${number(mind.latency_s)} seconds`).join(", ");
  return `${draws}. ${winner ? `${winner.agent} got the floor.` : "Nobody got the floor."}`;
}

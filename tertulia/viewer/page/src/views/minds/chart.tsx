/** An agent's willingness over the rounds against its threshold, with mechanisms and emotion as strips below. */

import { useRef } from "preact/hooks";
import { colourOf } from "../../components/speakers";
import { textWidth } from "../../components/plot";
import { useWidth } from "../../components/width";
import { inWords } from "../../format";
import type { RunInFull } from "../conversation/documents";
import { go, hrefOf } from "../../router";
import type { AgentInRun } from "./documents";

const [TOP, HEIGHT, STRIP, AXIS] = [8, 130, 18, 24];

export function AgentChart({ run, document }: { run: RunInFull; document: AgentInRun }) {
  const box = useRef<HTMLElement>(null);
  const width = useWidth(box, 300);
  const rounds = document.cognition;
  const strips = [...document.mechanisms, "emotion"];
  const names = Math.min(width / 2, 20 + Math.max(...strips.map((name) => textWidth(inWords(name)))));
  const [first, last] = [rounds[0]!.round, rounds.at(-1)!.round];
  const wide = (width - names - 12) / (last - first + 1);
  const x = (round: number) => names + (round - first) * wide;
  const highest = Math.max(1, document.threshold * 1.2, ...rounds.map((round) => round.willingness ?? 0));
  const y = (willingness: number) => TOP + HEIGHT * (1 - willingness / highest);
  const bottom = TOP + HEIGHT + 8 + strips.length * STRIP;
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((step) => step * wide >= 36) ?? 2000;
  const ticks = rounds.map((round) => round.round).filter((round) => round % step === 0 || round === first);
  const colour = colourOf(run.people, document.agent);
  const onClick = (event: MouseEvent) => {
    const round = first + Math.floor((event.clientX - box.current!.getBoundingClientRect().left - names) / wide);
    if (round >= first && round <= last) go(hrefOf(["runs", run.run], { turn: round, pane: "minds" }));
  };
  return (
    <figure class="plot agent-chart" ref={box}>
      <figcaption>Willingness by round against the threshold {document.threshold}, with mechanisms and emotion below; ◆ got the floor. Click a round to open its turn.</figcaption>
      <svg width={width} height={bottom + AXIS} role="img" aria-label={`Willingness of ${document.agent} in ${rounds.length} rounds; each stands in the list below`} onClick={onClick}>
        <g class="grid">{[0, highest / 2, highest].map((value) => <line key={value} x1={names} x2={width - 12} y1={y(value)} y2={y(value)} />)}</g>
        {[0, highest].map((value) => <text key={value} x={names - 6} y={y(value) + 4} text-anchor="end">{value.toFixed(1)}</text>)}
        <text x={0} y={TOP + 12}>willing</text>
        <line class="theta" x1={names} x2={width - 12} y1={y(document.threshold)} y2={y(document.threshold)} />
        <text x={names - 6} y={y(document.threshold) + 4} text-anchor="end">{document.threshold}</text>
        <path class="willing-line" d={line(document, (round) => x(round) + wide / 2, y)} stroke={colour} />
        {rounds.map((round) =>
          round.willingness !== null && (round.won || wide > 7) ? (
            <path
              key={round.round}
              transform={`translate(${x(round.round) + wide / 2} ${y(round.willingness)})`}
              d={round.won ? "M0-5 5 0 0 5-5 0Z" : "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0Z"}
              fill={round.won ? colour : "var(--surface)"}
              stroke={colour}
            />
          ) : null,
        )}
        {strips.map((name, index) => {
          const top = TOP + HEIGHT + 8 + index * STRIP;
          return (
            <g key={name}>
              <text x={0} y={top + STRIP - 5}>{inWords(name)}</text>
              <line class="strip" x1={names} x2={width - 12} y1={top + STRIP / 2} y2={top + STRIP / 2} />
              <path class={name === "emotion" ? "emotion" : "mechanism"} d={strip(document, name, x, wide, top)} fill={colour} />
            </g>
          );
        })}
        {ticks.map((round) => <text key={round} x={x(round) + wide / 2} y={bottom + 16} text-anchor="middle">{round}</text>)}
      </svg>
    </figure>
  );
}

function line(document: AgentInRun, x: (round: number) => number, y: (willingness: number) => number): string {
  let before = -1;
  const parts = document.cognition.flatMap(({ round, willingness }) => {
    if (willingness === null) return [];
    const part = `${before === round - 1 ? "L" : "M"}${x(round).toFixed(1)} ${y(willingness).toFixed(1)}`;
    before = round;
    return [part];
  });
  return parts.join("");
}

/** The rounds in which a mechanism was on, as blocks; an emotion as blocks as high as it was strong. */
function strip(document: AgentInRun, name: string, x: (round: number) => number, wide: number, top: number): string {
  const width = Math.max(1, wide - (wide > 4 ? 1.5 : 0));
  const full = STRIP - 6;
  return document.cognition
    .map(({ round, mechanisms, emotion_strength }) => {
      const strength = name === "emotion" ? (emotion_strength ?? 0) : mechanisms?.includes(name) ? 1 : 0;
      const height = full * strength;
      return height ? `M${x(round).toFixed(1)} ${(top + 3 + full - height).toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h-${width.toFixed(1)}Z` : "";
    })
    .join("");
}

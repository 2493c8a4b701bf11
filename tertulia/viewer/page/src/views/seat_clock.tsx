/** The clock of the race for the floor, as far as a person perceives it: how fast the others have been. */

import { useEffect, useState } from "preact/hooks";
import { isolated } from "../format";
import type { SeatRace } from "../seat_request";

interface RaceClockProps {
  readonly race: SeatRace;
  /** The turn in which the person is asked; null: they are not. */
  readonly turn: number | null;
  readonly lastTurn: number;
  readonly agent: string;
}

const inSeconds = (value: number) => `${value.toFixed(1)} s`;

export function RaceClock({ race, turn, lastTurn, agent }: RaceClockProps) {
  const taken = useSeconds(race.clock === "runs" && turn !== null, turn);
  const share = (value: number) => `${Math.min(100, (value / race.silence_s) * 100)}%`;
  const sorted = [...race.others_s].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  return (
    <>
      {median !== undefined && (
        <div class="seat-clock" aria-hidden="true">
          <div class="seat-track">
            {taken !== null && <span class="seat-hand" style={{ width: share(taken) }} />}
            {race.others_s.map((value, index) => <span key={index} class="seat-tick" style={{ left: share(value) }} />)}
            <span class="seat-median" style={{ left: share(median) }} />
          </div>
          <div class="seat-scale small muted number"><span>0 s</span><span>{race.silence_s.toFixed(0)} s: silence</span></div>
        </div>
      )}
      <p class="small">{othersOf(sorted, median)}</p>
      <p class="small">
        {race.clock === "runs"
          ? `The clock runs: the time until you send counts${taken === null ? "" : `, ${inSeconds(Math.min(taken, race.silence_s))} so far`}.`
          : "The clock waits while you type. Then a latency is drawn for you as for everybody, and the fastest speaks."}
      </p>
      {race.last && <p class="small data">{lastRace(race.last, lastTurn, agent)}</p>}
    </>
  );
}

function othersOf(sorted: readonly number[], median: number | undefined): string {
  if (median === undefined) return "How fast the others are is told here after the first round.";
  const [first, last] = [sorted[0]!, sorted.at(-1)!];
  if (sorted.length === 1) return `In the last round the first of the others was ready after ${inSeconds(first)}.`;
  return `In the last rounds the first of the others was ready after ${inSeconds(first)} to ${inSeconds(last)}, half of the time within ${inSeconds(median)}.`;
}

function lastRace(last: NonNullable<SeatRace["last"]>, turn: number, agent: string): string {
  if (last.speaker === null || last.waited_s === null) return `Turn ${turn}: nobody spoke.`;
  if (last.speaker === agent) return `Turn ${turn}: you spoke after ${inSeconds(last.waited_s)}.`;
  const you = last.own_s === null ? "" : `; you would have after ${inSeconds(last.own_s)}`;
  return `Turn ${turn}: ${isolated(last.speaker)} spoke after ${inSeconds(last.waited_s)}${you}.`;
}

const TICK_MS = 100;

/** Return the seconds since a turn was asked about, drawn anew while they run; null while they do not. */
function useSeconds(runs: boolean, turn: number | null): number | null {
  const [taken, setTaken] = useState(0);
  useEffect(() => {
    if (!runs) return;
    const since = performance.now();
    setTaken(0);
    const timer = setInterval(() => setTaken((performance.now() - since) / 1000), TICK_MS);
    return () => clearInterval(timer);
  }, [runs, turn]);
  return runs ? taken : null;
}

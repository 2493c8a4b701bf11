/** Playing a conversation back along its simulated clock, and the keys that lead from turn to turn. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { elapsed } from "../../format";
import { goWith } from "../../router";
import { begunAt, endOf } from "./clock";
import type { ConversationTurn } from "./documents";

/** How many simulated seconds pass in a second. */
export const SPEEDS = [1, 2, 5, 10, 50] as const;

export interface Playback {
  readonly isPlaying: boolean;
  readonly speed: number;
  toggle(): void;
  /** Report the simulated seconds whenever they move; returns what ends that. */
  watch(report: (seconds: number) => void): () => void;
}

/** Where the chosen turn stands among all that are stored, also where not all are read yet. */
export interface Range {
  readonly place: number;
  readonly count: number;
  /** The number of the last turn. */
  readonly last: number;
}

/** Return what plays turns back: it chooses each one as its first word is reached, from the chosen one on. */
export function usePlayback(
  turns: readonly ConversationTurn[],
  chosen: number,
  speed: number,
  choose: (index: number) => void,
): Playback {
  const [isPlaying, setPlaying] = useState(false);
  const watchers = useRef(new Set<(seconds: number) => void>());
  const now = useRef({ turns, chosen, choose, seconds: 0, reached: -1 });
  Object.assign(now.current, { turns, chosen, choose });

  const moveTo = (seconds: number) => {
    now.current.seconds = seconds;
    for (const report of watchers.current) report(seconds);
  };

  useEffect(() => {
    // Whoever chooses a turn, playing or not, has the line go there; a turn that playing reached is chosen already.
    if (chosen === now.current.reached && isPlaying) return;
    moveTo(turns[chosen]?.sim_time_s ?? 0);
    now.current.reached = chosen;
  }, [chosen, turns.length === 0]);

  useEffect(() => {
    if (!isPlaying) return;
    let [frame, before] = [0, performance.now()];
    const step = (time: number) => {
      const at = now.current;
      const seconds = at.seconds + ((time - before) / 1000) * speed;
      before = time;
      const end = endOf(at.turns);
      moveTo(Math.min(seconds, end));
      const reached = Math.max(0, begunAt(at.turns, seconds));
      if (reached !== at.reached) {
        at.reached = reached;
        at.choose(reached);
      }
      if (seconds >= end) setPlaying(false);
      else frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [isPlaying, speed]);

  return {
    isPlaying,
    speed,
    toggle: () => {
      const at = now.current;
      if (!isPlaying && at.seconds >= endOf(at.turns)) {
        at.choose(0);
        at.reached = 0;
        moveTo(0);
      }
      setPlaying(!isPlaying);
    },
    watch: (report) => {
      watchers.current.add(report);
      report(now.current.seconds);
      return () => void watchers.current.delete(report);
    },
  };
}

/** What plays, scrubs and zooms, above the timeline. */
export function PlaybackBar({
  playback,
  turn,
  range,
  choose,
}: {
  playback: Playback;
  turn: ConversationTurn | undefined;
  range: Range;
  choose: (index: number) => void;
}) {
  const where = turn ? `Turn ${turn.turn}, ${elapsed(turn.sim_time_s)}, ${turn.speaker ?? "silence"}` : "";
  return (
    <>
      <button class="play" onClick={playback.toggle} aria-keyshortcuts="Space">
        <span aria-hidden="true">{playback.isPlaying ? "❚❚" : "▶"}</span> {playback.isPlaying ? "Pause" : "Play"}
      </button>
      <select
        aria-label="Speed of the simulated clock"
        value={String(playback.speed)}
        onChange={(event) => goWith({ speed: event.currentTarget.value === "1" ? null : event.currentTarget.value })}
      >
        {SPEEDS.map((speed) => <option key={speed} value={String(speed)}>{speed}×</option>)}
      </select>
      <input
        class="scrub"
        type="range"
        aria-label="Turn"
        aria-valuetext={where}
        min={0}
        max={Math.max(0, range.count - 1)}
        value={range.place}
        onInput={(event) => choose(Number(event.currentTarget.value))}
      />
      <span class="number small where" aria-hidden="true">
        {turn ? `${turn.turn} of ${range.last} · ${elapsed(turn.sim_time_s)}` : ""}
      </span>
    </>
  );
}

/** Have the arrow keys lead from turn to turn, Home and End to the ends, and Space play, wherever nothing else wants them. */
export function useTurnKeys(count: number, chosen: number, choose: (index: number) => void, toggle: (() => void) | null): void {
  const held = useRef({ count, chosen, choose, toggle });
  held.current = { count, chosen, choose, toggle };
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { count, chosen, choose, toggle } = held.current;
      if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !isOurs(event)) return;
      const isInList = event.target instanceof Element && event.target.closest("[role=listbox]") !== null;
      const to = {
        ArrowLeft: chosen - 1,
        ArrowRight: chosen + 1,
        ...(isInList ? { ArrowUp: chosen - 1, ArrowDown: chosen + 1, PageUp: chosen - 10, PageDown: chosen + 10 } : {}),
        Home: 0,
        End: count - 1,
      }[event.key];
      if (to !== undefined && count) choose(Math.min(count - 1, Math.max(0, to)));
      else if (event.key === " " && toggle) toggle();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** Return whether a key is for the turns: pressed in the timeline, in the transcript, or nowhere in particular. */
function isOurs(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof Element) || target === document.body) return true;
  if (target.closest("input, select, textarea, button, a, summary")) return false;
  return target.closest(".timeline, .transcript, .run-heading") !== null;
}

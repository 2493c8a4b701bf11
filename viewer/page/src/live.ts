/** A run as it changes: how it stands, and its turns as they are stored. */

import { useEffect, useRef, useState } from "preact/hooks";
import { source } from "./source";
import { type Loaded, readDocument } from "./use_document";
import { type ConversationTurn, type ConversationTurns, runPath } from "./views/conversation/documents";

/** Until turns are asked for again that could not be read. */
const RETRY_MS = 1000;

/** How a run stands. */
export interface Standing {
  readonly status: string;
  readonly turns: number;
}

/** Return how a run stands now, and draw anew when that changes; `null` until the server has reported it. */
export function useLive(run: string): Standing | null {
  const [standing, setStanding] = useState<{ run: string; is: Standing } | null>(null);
  useEffect(() => {
    if (source.isFile) return;
    return source.watch(run, (change) => {
      const reported = change.run;
      if (reported === null) return;
      setStanding((held) => {
        const isSame = held?.run === run && held.is.status === reported.status && held.is.turns === reported.turns;
        return isSame ? held : { run, is: { status: reported.status, turns: reported.turns } };
      });
    });
  }, [run]);
  return standing?.run === run ? standing.is : null;
}

/**
 * Return the turns of a run; new ones are appended as `standing` tells of them. A turn that is read again takes the place
 * of the one with its number, so a run that was killed and goes on shows none twice.
 */
export function useTurns(run: string, standing: Standing | null): Loaded<readonly ConversationTurn[]> {
  const [held, hold] = useState<{ run: string; loaded: Loaded<readonly ConversationTurn[]> } | null>(null);
  const reading = useRef(false);
  const [tries, tryAgain] = useState(0);
  const loaded = held?.run === run ? held.loaded : null;
  useEffect(() => {
    let isWanted = true;
    readDocument<ConversationTurns>(runPath(run, "turns")).then(
      ({ turns }) => isWanted && hold({ run, loaded: { state: "ready", value: turns } }),
      (error: Error) => isWanted && hold({ run, loaded: { state: "failed", error: error.message } }),
    );
    return () => void (isWanted = false);
  }, [run]);
  const turns = loaded?.state === "ready" ? loaded.value : null;
  const last = turns?.at(-1)?.turn ?? 0;
  useEffect(() => {
    if (turns === null || standing === null || standing.turns <= last || reading.current) return;
    reading.current = true;
    source
      .read<ConversationTurns>(`${runPath(run, "turns")}?after=${Math.max(0, last - 1)}`)
      .then(
        ({ turns: later }) => {
          if ((later.at(-1)?.turn ?? 0) > last) hold({ run, loaded: { state: "ready", value: merged(turns, later) } });
        },
        () => void setTimeout(() => tryAgain((times) => times + 1), RETRY_MS),
      )
      .finally(() => void (reading.current = false));
  }, [turns, last, standing, run, tries]);
  return loaded ?? { state: "loading" };
}

/** Return turns with others in the place of those with their numbers, or behind them. */
export function merged<T extends { readonly turn: number }>(held: readonly T[], later: readonly T[]): readonly T[] {
  const first = later[0]?.turn;
  if (first === undefined) return held;
  return [...held.filter((turn) => turn.turn < first), ...later];
}

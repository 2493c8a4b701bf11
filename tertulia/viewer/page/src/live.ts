/** A run as it changes: how far it is, and its turns as they are stored. */

import { useEffect, useRef, useState } from "preact/hooks";
import { source } from "./source";
import { onRecovery } from "./server_request";
import { type Loaded, readDocument, useDocument } from "./use_document";
import { type ConversationTurn, type ConversationTurns, type RunInFull, runPath } from "./views/conversation/documents";

/** Until a run, or turns, that could not be read are asked for again. */
const RETRY_MS = 1000;

/** What a run that is no longer in the store has for a status. */
const REMOVED = "removed";

/** How far a run is. */
export interface RunProgress {
  readonly status: string;
  readonly turns: number;
  /** Whether a process drives it. */
  readonly driven?: boolean | undefined;
}

/** Return how far a run is now, and draw anew when that changes; `null` until the server has reported it. */
export function useLive(run: string): RunProgress | null {
  const [progress, setProgress] = useState<{ run: string; progress: RunProgress } | null>(null);
  useEffect(() => {
    if (source.isFile) return;
    return source.watch(run, (change) => {
      const reported: RunProgress = change.run ?? { status: REMOVED, turns: 0 };
      setProgress((held) => {
        const progress: RunProgress = { status: reported.status, turns: reported.turns, driven: reported.driven };
        const isSame = held?.run === run && JSON.stringify(held.progress) === JSON.stringify(progress);
        return isSame ? held : { run, progress };
      });
    });
  }, [run]);
  return progress?.run === run ? progress.progress : null;
}

/** Return a version for what is read of a run as it stands: another one as soon as it has other turns or has ended. */
export function versionOf(run: RunProgress, live: RunProgress | null = null): string {
  const { status, turns } = live ?? run;
  return `${status} ${turns}`;
}

/**
 * Return a run as the store has it now, and what reads it anew. Where it is not there (any more), it is shown as soon as it
 * is.
 */
export function useRun(id: string): [Loaded<RunInFull>, () => void] {
  const [version, setVersion] = useState(() => Date.now()); // it may have gone on since it was read last
  const renew = () => setVersion((version) => version + 1);
  const run = useDocument<RunInFull>(runPath(id), version);
  const live = useLive(run.state === "ready" ? run.value.run : id);
  const isThere = live !== null && live.status !== REMOVED;
  useEffect(() => {
    if (!isThere || run.state !== "failed") return;
    const retry = setTimeout(renew, RETRY_MS);
    return () => clearTimeout(retry);
  }, [isThere, run]);
  return [run, renew];
}

/**
 * Return the turns of a run; new ones are appended as `progress` tells of them. A turn that is read again takes the place
 * of the one with its number, so a run that was killed and goes on shows none twice. Of a long run those up to the one
 * that is `asked` for are read first, and shown while the others are read.
 */
export function useTurns(run: string, progress: RunProgress | null, asked: number): Loaded<readonly ConversationTurn[]> {
  const [held, hold] = useState<{ run: string; loaded: Loaded<readonly ConversationTurn[]> } | null>(null);
  const reading = useRef(false);
  const [tries, tryAgain] = useState(0);
  const [starts, startAgain] = useState(0);
  const loaded = held?.run === run ? held.loaded : null;
  useEffect(() => {
    let isWanted = true;
    const path = runPath(run, "turns");
    readDocument<ConversationTurns>(source.isFile ? path : `${path}?to=${firstPage(asked)}`).then(
      ({ turns }) => isWanted && hold({ run, loaded: { state: "ready", value: turns } }),
      (error: Error) => isWanted && hold({ run, loaded: { state: "failed", error: error.message } }),
    );
    return () => void (isWanted = false);
  }, [run, starts]);
  const hasFailed = loaded?.state === "failed";
  useEffect(() => (hasFailed ? onRecovery(() => startAgain((times) => times + 1)) : undefined), [hasFailed]);
  const turns = loaded?.state === "ready" ? loaded.value : null;
  const last = turns?.at(-1)?.turn ?? 0;
  useEffect(() => {
    if (turns === null || progress === null || progress.turns <= last || reading.current) return;
    reading.current = true;
    const after = Math.max(0, last - 1);
    source
      .read<ConversationTurns>(`${runPath(run, "turns")}?after=${after}&to=${after + TURNS_AT_A_TIME}`)
      .then(
        ({ turns: later }) => {
          if ((later.at(-1)?.turn ?? 0) > last) hold({ run, loaded: { state: "ready", value: merged(turns, later) } });
        },
        () => void setTimeout(() => tryAgain((times) => times + 1), RETRY_MS),
      )
      .finally(() => void (reading.current = false));
  }, [turns, last, progress, run, tries]);
  return loaded ?? { state: "loading" };
}

/** Turns that are read at first, in steps, so that an address that is opened again has them at once. */
const TURNS_AT_FIRST = 150;
/** Turns of a long run that are read at a time behind the first, so that nothing else waits for all of them. */
const TURNS_AT_A_TIME = 300;

/** Return the last turn that is read at first, where one of them is asked for. */
export function firstPage(asked: number): number {
  return (Math.floor((Number.isFinite(asked) ? Math.max(0, asked) : 0) / TURNS_AT_FIRST) + 1) * TURNS_AT_FIRST;
}

/** Return turns with others in the place of those with their numbers, or behind them. */
export function merged<T extends { readonly turn: number }>(held: readonly T[], later: readonly T[]): readonly T[] {
  const first = later[0]?.turn;
  if (first === undefined) return held;
  return [...held.filter((turn) => turn.turn < first), ...later];
}

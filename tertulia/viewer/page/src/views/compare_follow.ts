/** Two runs that are compared while they go on: the comparison is read anew as either has another turn or ends. */

import { useEffect, useRef, useState } from "preact/hooks";
import { source } from "../source";
import { type Loaded, useDocument } from "../use_document";
import type { Comparison, Side } from "./compare_documents";

/** How far a run is; null until the server has said it. */
export type Progress = { readonly status: string; readonly turns: number; readonly driven?: boolean } | null;

export interface Followed {
  readonly a: Progress;
  readonly b: Progress;
}

/** The shortest time between two readings: a rehearsal has many turns a second. */
const READ_EVERY_MS = 400;

/** Whether a run is being driven: one that was killed is still stored as running. */
export const isGoing = (progress: Progress): boolean => progress !== null && progress.status === "running" && progress.driven !== false;

/** Return the comparison of two runs as it stands, and how far they are. */
export function useComparison(a: string, b: string): [Loaded<Comparison>, Followed] {
  const followed = { a: useProgress(a), b: useProgress(b) };
  const [version, setVersion] = useState(() => Date.now()); // a run may have gone on since they were compared last
  const read = useRef(0);
  const compared = useDocument<Comparison>(`diff/${encodeURIComponent(a)}/${encodeURIComponent(b)}`, version);
  const isBehind =
    compared.state === "ready" && (isAhead(followed.a, compared.value.a) || isAhead(followed.b, compared.value.b));
  useEffect(() => {
    if (!isBehind) return;
    const again = () => {
      read.current = performance.now();
      setVersion((version) => version + 1);
    };
    const timer = setTimeout(again, Math.max(0, read.current + READ_EVERY_MS - performance.now()));
    return () => clearTimeout(timer);
  }, [compared, isBehind]);
  return [compared, followed];
}

/** Whether a run has come further than what was read of it. */
function isAhead(progress: Progress, { turns, status }: Side): boolean {
  return progress !== null && (progress.turns > turns || progress.status !== status);
}

function useProgress(run: string): Progress {
  const [progress, setProgress] = useState<Progress>(null);
  useEffect(() => {
    setProgress(null);
    if (source.isFile) return;
    return source.watch(run, ({ run }) => run && setProgress({ status: run.status, turns: run.turns, driven: run.driven }));
  }, [run]);
  return progress;
}

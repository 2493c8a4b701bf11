/** Documents as a component reads them: kept once they are read, and read anew where they have changed. */

import { useEffect, useState } from "preact/hooks";
import { Listeners } from "./outside_value";
import { onRecovery } from "./server_request";
import { source } from "./source";

export type Loaded<T> =
  | { readonly state: "loading" }
  | { readonly state: "ready"; readonly value: T }
  | { readonly state: "failed"; readonly error: string };

/** What a document was read for: it is read anew for another version, and any is good enough for version 0. */
type Version = string | number;

interface Kept {
  readonly version: Version;
  readonly document: Promise<unknown>;
}

const kept = new Map<string, Kept>();
const KEPT_AT_MOST = 400;

/** Return the document of a path, from what was read before where that is there and of the version that is wanted. */
export function readDocument<T>(path: string, version: Version = 0): Promise<T> {
  const found = kept.get(path);
  if (found && (version === 0 || found.version === version)) return found.document as Promise<T>;
  const reading = source.read<T>(path);
  kept.delete(path); // so that it counts as the newest
  kept.set(path, { version, document: reading });
  reading.catch(() => kept.get(path)?.document === reading && kept.delete(path));
  underWay.set(path, reading);
  const end = () => underWay.get(path) === reading && underWay.delete(path);
  reading.then(end, end);
  showReading(reading);
  if (kept.size > KEPT_AT_MOST) kept.delete(kept.keys().next().value!);
  return reading;
}

/** The documents that are being read, by path. */
const underWay = new Map<string, Promise<unknown>>();

/**
 * Read the document of a path in a version, and report the reading. While it is read in an earlier version, that reading is
 * reported first: so whoever follows a run asks once at a time, however fast it goes on. Returns what ends that.
 */
export function followDocument<T>(path: string, version: Version, report: (reading: Promise<T>) => void): () => void {
  let isWanted = true;
  const read = () => {
    if (!isWanted) return;
    const before = underWay.get(path) as Promise<T> | undefined;
    if (before === undefined || version === 0 || kept.get(path)?.version === version) return report(readDocument<T>(path, version));
    report(before);
    before.then(read, read);
  };
  read();
  return () => void (isWanted = false);
}

const replaced = new Listeners();

/** Keep a document as the server has made it anew, and show it wherever it is shown. */
export function replaceDocument(path: string, document: unknown): void {
  kept.set(path, { version: 0, document: Promise.resolve(document) });
  replaced.tell();
}

let readings = 0;

/** Mark the page as reading until a document is there: who waits for a view to be complete can't see it otherwise. */
function showReading(reading: Promise<unknown>): void {
  const count = (change: number) => {
    readings += change;
    document.documentElement.toggleAttribute("data-reading", readings > 0);
  };
  count(1);
  const end = () => count(-1);
  reading.then(end, end);
}

/**
 * Return the document of a path, and draw anew once it is there; `null` reads nothing. While another one is read, the
 * state is `loading`; where `version` alone changes, the document is read anew and the former one stays meanwhile. One that
 * could not be read is tried again when the server answers again.
 */
export function useDocument<T>(path: string | null, version: Version = 0): Loaded<T> {
  const [tries, setTries] = useState(0);
  const tryAgain = () => setTries((times) => times + 1);
  const [held, hold] = useState<{ path: string | null; loaded: Loaded<T> }>({ path, loaded: { state: "loading" } });
  useEffect(() => {
    if (path === null) return;
    let isWanted = true;
    const keep = (loaded: Loaded<T>) => isWanted && hold({ path, loaded });
    const end = followDocument<T>(path, version, (reading) =>
      reading.then(
        (value) => keep({ state: "ready", value }),
        (error: Error) => keep({ state: "failed", error: error.message }),
      ),
    );
    return () => {
      isWanted = false;
      end();
    };
  }, [path, version, tries]);
  const hasFailed = held.path === path && held.loaded.state === "failed";
  useEffect(() => (hasFailed ? onRecovery(tryAgain) : undefined), [hasFailed]);
  useEffect(() => replaced.add(tryAgain), []);
  return held.path === path ? held.loaded : { state: "loading" };
}

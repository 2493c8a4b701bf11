/** Documents as a component reads them: kept once they are read, and read anew where they have changed. */

import { useEffect, useState } from "preact/hooks";
import { source } from "./source";

export type Loaded<T> =
  | { readonly state: "loading" }
  | { readonly state: "ready"; readonly value: T }
  | { readonly state: "failed"; readonly error: string };

const kept = new Map<string, Promise<unknown>>();
const KEPT_AT_MOST = 400;

/** Return the document of a path, from what was read before where that is there. */
export function readDocument<T>(path: string): Promise<T> {
  let document = kept.get(path) as Promise<T> | undefined;
  if (document === undefined) {
    document = source.read<T>(path);
    kept.set(path, document);
    document.catch(() => kept.delete(path));
    if (kept.size > KEPT_AT_MOST) kept.delete(kept.keys().next().value!);
  }
  return document;
}

/** Forget a document, as it has changed. */
export function forgetDocument(path: string): void {
  kept.delete(path);
}

/**
 * Return the document of a path, and draw anew once it is there; `null` reads nothing. While another one is read, the
 * state is `loading`; where `version` alone changes, the document is read anew and the former one stays meanwhile.
 */
export function useDocument<T>(path: string | null, version: string | number = 0): Loaded<T> {
  const [held, hold] = useState<{ path: string | null; loaded: Loaded<T> }>({ path, loaded: { state: "loading" } });
  useEffect(() => {
    if (path === null) return;
    let isWanted = true;
    if (version !== 0) forgetDocument(path);
    const keep = (loaded: Loaded<T>) => isWanted && hold({ path, loaded });
    readDocument<T>(path).then(
      (value) => keep({ state: "ready", value }),
      (error: Error) => keep({ state: "failed", error: error.message }),
    );
    return () => void (isWanted = false);
  }, [path, version]);
  return held.path === path ? held.loaded : { state: "loading" };
}

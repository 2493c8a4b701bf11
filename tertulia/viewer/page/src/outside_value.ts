/** What lies outside the drawn tree (the address, the connection, the window), for views that are drawn anew when it changes. */

import { useEffect, useState } from "preact/hooks";

/** Those who are to hear that a value has changed. */
export class Listeners {
  private readonly all = new Set<() => void>();

  /** Call a function at every change; returns what ends that. */
  readonly add = (listener: () => void): (() => void) => {
    this.all.add(listener);
    return () => void this.all.delete(listener);
  };

  /** Call them all. */
  readonly tell = (): void => {
    for (const listener of [...this.all]) listener();
  };
}

/**
 * Return what `read` returns, and draw anew when it changes. `listen` is asked once, some time after the first drawing: what
 * changed between the two is looked for then.
 */
export function useOutside<T>(listen: (report: () => void) => () => void, read: () => T): T {
  const [value, setValue] = useState<T>(read);
  useEffect(() => {
    const look = () => setValue(read);
    const end = listen(look);
    look();
    return end;
  }, []);
  return value;
}

/** Return whether the window is as a media query says, and draw anew when that changes. */
export function useMatches(query: MediaQueryList): boolean {
  return useOutside(
    (report) => {
      query.addEventListener("change", report);
      return () => query.removeEventListener("change", report);
    },
    () => query.matches,
  );
}

/** The place that the page shows, as the part of its address behind `#`: every view can be reopened by its address. */

import { Listeners, useOutside } from "./outside_value";

/** A path such as `runs/k3f9`, decoded, and what follows its question mark. */
export interface Place {
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** What a query may be changed to; `null` takes a key away. */
export type QueryChanges = Record<string, string | number | null | undefined>;

/** Return the place that an address names: `#/runs/k3f9?turn=3`. */
export function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  return {
    path: path.split("/").filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** Return the address of a place, beginning with `#`. */
export function hrefOf(path: readonly (string | number)[], query: QueryChanges = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `#/${path.map((part) => encodeURIComponent(part)).join("/")}${search ? `?${search}` : ""}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

let current = placeOf(location.hash);
const listeners = new Listeners();

function arrive(place: Place): void {
  current = place;
  listeners.tell();
}

/**
 * Browsers refuse addresses that change too often for long (100 times in 30 seconds, for one of them): so many changes are
 * written at once, and then one after each pause.
 */
const [AT_ONCE, PAUSE_MS] = [30, 450];
let allowed = AT_ONCE;
let counted = 0;
let waiting: { href: string; timer: number } | null = null;

addEventListener("hashchange", () => {
  if (waiting) clearTimeout(waiting.timer);
  waiting = null;
  arrive(placeOf(location.hash));
});

/**
 * Whether the page has an address. In a notebook's cell it has none (`about:srcdoc`), and a link would resolve against the
 * notebook's: there, places are kept in memory, and links are followed by the page itself.
 */
const hasAddress = typeof location === "undefined" || location.protocol !== "about:";

/** Show another place; `replace`: without a step in the history, as for what changes while something is dragged. */
export function go(href: string, replace = false): void {
  const isElsewhere = placeOf(href).path.join("/") !== pathNow();
  if (hasAddress && replace) replaceAddress(href);
  else if (hasAddress) {
    writeWaiting();
    history.pushState(null, "", href);
  }
  arrive(placeOf(href));
  if (isElsewhere && !replace) scrollTo(0, 0); // another view begins at its top
}

/** Have the address follow what is changed or dragged, at a pace that browsers allow. */
function replaceAddress(href: string): void {
  if (waiting) {
    waiting.href = href;
    return;
  }
  const now = performance.now();
  allowed = Math.min(AT_ONCE, allowed + (now - counted) / PAUSE_MS);
  counted = now;
  waiting = { href, timer: window.setTimeout(writeWaiting, PAUSE_MS) };
  if (allowed >= 1) writeWaiting();
}

function writeWaiting(): void {
  if (!waiting) return;
  clearTimeout(waiting.timer);
  history.replaceState(null, "", waiting.href);
  allowed -= 1;
  waiting = null;
}

// What is left, by a link or for good, has the address of what it showed.
if (hasAddress) {
  addEventListener("click", writeWaiting, { capture: true });
  addEventListener("pagehide", writeWaiting);
}

if (!hasAddress) {
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const href = link?.getAttribute("href") ?? "";
    if (!href.startsWith("#") || event.defaultPrevented) return;
    event.preventDefault();
    if (href.startsWith("#/")) go(href);
    else document.getElementById(href.slice(1))?.scrollIntoView();
  });
}

/** Show the same view with something of its query changed. */
export function goWith(changes: QueryChanges, replace = true): void {
  go(hrefOf(current.path, { ...current.query, ...changes }), replace);
}

/** Return the path that is shown now, in one text. */
export const pathNow = (): string => current.path.join("/");

/** Return the place that is shown, and draw anew when it changes. */
export function usePlace(): Place {
  return useOutside(listeners.add, () => current);
}

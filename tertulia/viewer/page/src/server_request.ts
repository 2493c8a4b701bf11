/** Requests to the server of `tertulia view`, and what is wrong with the connection to it. */

import { Listeners, useOutside } from "./outside_value";

/** What the printed address has after `?token=`; null where the server asks for none. */
const token = new URLSearchParams(globalThis.location?.search).get("token");

const START_AGAIN =
  "Not connected. Start the viewer again with: tertulia view" +
  (token === null ? "" : " (and open the address that it prints: it has a new token)");

/** Why the server refuses something; `fields` has the reason by each field of a form that is wrong. */
export class RefusedError extends Error {
  constructor(words: string, readonly fields: Readonly<Record<string, string>>) {
    super(words);
  }
}

/** Return the JSON that the server answers, to a body as JSON or to a file as it is; throws an `Error` for a reader. */
export async function request<T>(path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = token === null ? {} : { "X-Tertulia-Token": token };
  const isFile = body instanceof Blob;
  const sent = body === undefined ? {} : { method: "POST", body: isFile ? body : JSON.stringify(body) };
  if (body !== undefined) headers["Content-Type"] = isFile ? "application/octet-stream" : "application/json";
  let response: Response;
  try {
    response = await fetch(`api/${path}`, { headers, ...sent });
  } catch {
    throw new Error("The server does not answer. Start it again with: tertulia view");
  }
  const answer = await response.json().catch(() => ({ error: response.statusText }));
  if (!response.ok) throw new RefusedError(answer.error ?? response.statusText, answer.fields ?? {});
  return answer;
}

/** Return the address of a report's page, which the server shows in a tab of its own. */
export function reportAddress(experiment: string): string {
  return `report?${new URLSearchParams({ experiment, ...(token === null ? {} : { token }) })}`;
}

// --- the connection over which changes come -------------------------------------------------------------------------

let problem: string | null = null;
const listeners = new Listeners();
const recoveries = new Listeners();

function tell(now: string | null): void {
  const isRecovery = problem !== null && now === null;
  problem = now;
  listeners.tell();
  if (isRecovery) recoveries.tell();
}

/** Call a function when the server answers again, or the store can be read again; returns what ends that. */
export const onRecovery = recoveries.add;

/** Return what is wrong with the connection, or with the store; null where all is well. */
export function useConnectionProblem(): string | null {
  return useOutside(listeners.add, () => problem);
}

const RETRY_AFTER_MS = 2000;

/**
 * The changes of a run, for all who watch it. A browser has six connections to a server for all of its tabs together:
 * so one stream serves all views, and a tab that nobody sees has none.
 */
class Stream<T> {
  private events: EventSource | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private last: T | null = null;
  readonly reports = new Set<(change: T) => void>();

  constructor(private readonly address: string) {
    document.addEventListener("visibilitychange", this.follow);
    this.follow();
  }

  add(report: (change: T) => void): void {
    this.reports.add(report);
    if (this.last !== null) report(this.last);
  }

  close(): void {
    document.removeEventListener("visibilitychange", this.follow);
    this.disconnect();
  }

  private readonly follow = () => (document.hidden ? this.disconnect() : this.connect());

  private connect(): void {
    this.disconnect();
    const events = new EventSource(this.address);
    events.onmessage = (event) => {
      tell(null);
      this.last = JSON.parse(event.data) as T;
      for (const report of this.reports) report(this.last);
    };
    events.addEventListener("unreadable", (event) => tell(JSON.parse((event as MessageEvent).data).error));
    events.onerror = () => {
      tell(START_AGAIN);
      if (events.readyState !== EventSource.CLOSED) return; // it tries again by itself
      this.retry = setTimeout(() => this.connect(), RETRY_AFTER_MS);
    };
    this.events = events;
  }

  private disconnect(): void {
    clearTimeout(this.retry);
    this.events?.close();
    this.events = null;
  }
}

const streams = new Map<string, Stream<unknown>>();

/** Report what the server says of a run, at once and whenever it changes; returns what ends that. */
export function watchServer<T>(run: string | null, report: (change: T) => void): () => void {
  const query = new URLSearchParams({ ...(run === null ? {} : { run }), ...(token === null ? {} : { token }) });
  const address = `api/changes?${query}`;
  const stream = (streams.get(address) ?? new Stream<T>(address)) as Stream<T>;
  streams.set(address, stream as Stream<unknown>);
  stream.add(report);
  return () => {
    stream.reports.delete(report);
    if (stream.reports.size) return;
    stream.close();
    if (streams.get(address) === stream) streams.delete(address);
  };
}

/** What the page of a seat reads and sends: its invitation opens nothing else of the server. */

import type { SpokenPart } from "./components/spoken";

/** What an invitation's address has after `?seat=`; null on the page of who holds the viewer. */
export const seatToken = new URLSearchParams(globalThis.location?.search).get("seat");

/** The document `api/seat`: what the person in a seat perceives. */
export interface SeatDocument {
  readonly version: string;
  readonly run: string;
  readonly agent: string;
  readonly title: string;
  readonly place: string | null;
  readonly situation: string | null;
  readonly kind: "dialogue" | "group_chat";
  readonly status: string;
  readonly driven: boolean;
  /** Whether the person has left: the model speaks for them. */
  readonly left: boolean;
  /** The turn that is under way, or next. */
  readonly turn: number;
  /** The turn at which it parted from the run that it is a fork of. */
  readonly forked_at: number | null;
  readonly people: readonly string[];
  readonly present: readonly string[];
  readonly role: readonly string[];
  readonly memories: readonly string[];
  readonly lines: readonly SeatLine[];
  readonly asked: SeatQuestion | null;
  /** What was sent in this turn, empty for silence; null: nothing yet. */
  readonly answered: string | null;
  readonly waiting_for: readonly string[];
  readonly longest: number;
  readonly race: SeatRace | null;
}

export interface SeatLine {
  readonly turn: number;
  readonly speaker: string | null;
  readonly text: string;
  readonly spoken?: readonly SpokenPart[];
  readonly time: string;
  readonly own: boolean;
}

export interface SeatQuestion {
  readonly turn: number;
  readonly may_pass: boolean;
  /** Words that did not get the floor in the round before. */
  readonly kept: string | null;
}

export interface SeatRace {
  readonly silence_s: number;
  readonly clock: "waits" | "runs";
  /** In the last rounds, after how long the fastest of the others was ready, in seconds. */
  readonly others_s: readonly number[];
  readonly last: { readonly speaker: string | null; readonly waited_s: number | null; readonly own_s: number | null } | null;
}

const NOT_CONNECTED = "Not connected. What you type is kept here; it can be sent once the viewer answers again.";
const RETRY_AFTER_MS = 1500;

/** Send a line, or that the seat is left; throws an `Error` for a reader. */
export async function sendToSeat(body: unknown): Promise<void> {
  await answered(
    fetch("api/seat", {
      method: "POST",
      headers: { "X-Tertulia-Seat": seatToken ?? "", "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

async function answered<T>(response: Promise<Response>): Promise<T> {
  const got = await response.catch(() => {
    throw new Error(NOT_CONNECTED);
  });
  const answer = await got.json().catch(() => ({ error: got.statusText }));
  if (!got.ok) throw new Error(answer.error ?? got.statusText);
  return answer;
}

/** Report what the person perceives, at once and whenever it changes, and what is wrong; returns what ends that. */
export function watchSeat(report: (document: SeatDocument) => void, tell: (problem: string | null) => void): () => void {
  let events: EventSource | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const connect = () => {
    events = new EventSource(`api/seat/changes?seat=${encodeURIComponent(seatToken ?? "")}`);
    events.onmessage = (event) => {
      tell(null);
      report(JSON.parse(event.data) as SeatDocument);
    };
    events.addEventListener("unreadable", (event) => tell(JSON.parse((event as MessageEvent).data).error));
    events.onerror = async () => {
      const isRefused = events?.readyState === EventSource.CLOSED;
      tell(NOT_CONNECTED);
      if (!isRefused) return; // it tries again by itself
      retry = setTimeout(connect, RETRY_AFTER_MS);
      await answered(fetch("api/seat", { headers: { "X-Tertulia-Seat": seatToken ?? "" } })).catch((error: Error) => tell(error.message));
    };
  };
  connect();
  return () => {
    clearTimeout(retry);
    events?.close();
  };
}

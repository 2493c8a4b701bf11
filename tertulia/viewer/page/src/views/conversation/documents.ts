/** The documents of a run and its turns as viewer/documents/conversation.py writes them. */

import type { SpokenPart } from "../../components/spoken";
import type { PictureOfExchange } from "../../components/thumbnail";
import type { Run, TurnBid, TurnRow } from "../../documents";

/** When somebody comes to a meeting and leaves it, in seconds from its start; `null`: they are there from the start, or to the end. */
export interface Stay {
  readonly agent: string;
  readonly joins_s: number | null;
  readonly leaves_s: number | null;
  readonly leaves_for: string | null;
}

export interface Fork {
  readonly run: string;
  readonly turn: number;
  readonly label: string | null;
  readonly removal_factor: number | null;
}

export interface RunInFull extends Run {
  readonly title: string | null;
  /** What is said first, cut; null while nobody has spoken. */
  readonly first_line: string | null;
  readonly place: string | null;
  readonly stays: readonly Stay[];
  readonly seat: string | null;
  readonly forks: readonly Fork[];
  readonly more_forks: number;
  /** By model, the sampling that its server did not take: how it drew is unknown. */
  readonly unsent: Readonly<Record<string, readonly string[]>>;
}

export interface Bid extends TurnBid {
  readonly willing: boolean;
}

/** Who met in an album chat, and about which picture; the turn's text is the question. */
export interface Exchange {
  readonly asker: string;
  readonly answerer: string;
  readonly picture: PictureOfExchange;
  readonly plan: string;
  readonly answer: string;
  readonly spoken?: readonly SpokenPart[];
  readonly passed: boolean;
}

/** A turn, and how it came about in figures; those are `null` where it was not scored. */
export interface ConversationTurn extends TurnRow {
  readonly duration_s: number;
  /** The parts of the text if it has actions. */
  readonly spoken?: readonly SpokenPart[];
  readonly by_hand: boolean;
  /** Whether a person rewrote what a model was about to say. */
  readonly edited: boolean;
  readonly rollbacks: number;
  readonly removal_factor: number | null;
  readonly removable: number | null;
  readonly removed: number | null;
  readonly bids: readonly Bid[];
  readonly exchange?: Exchange;
}

export interface ConversationTurns {
  readonly run: string;
  readonly status: string;
  readonly turns: readonly ConversationTurn[];
}

export interface TurnThought {
  readonly agent: string;
  readonly thought: string;
  readonly willing: boolean;
  readonly won: boolean;
}

/** By turn the thoughts of who got the floor, first, and of who was willing. */
export interface Thoughts {
  readonly turns: Readonly<Record<string, readonly TurnThought[]>>;
}

/** Return the path of a document of a run. */
export function runPath(run: string, ...parts: readonly (string | number)[]): string {
  return ["runs", run, ...parts].map((part) => encodeURIComponent(part)).join("/");
}

/** The documents of a turn (viewer/documents/turn.py), as far as the page reads them. */

import type { SpokenPart } from "../components/spoken";
import type { PictureOfExchange } from "../components/thumbnail";
import type { Reason } from "../leaning";
import type { DrawnUnit, Order, Walk } from "../pruning";

export interface Unit {
  readonly id: string;
  readonly block: string;
  readonly kind: "item" | "text";
  readonly text: string;
  readonly removable: boolean;
  /** How much the line leaned on it; null where that is not known, and for what was removed. */
  readonly line_score: number | null;
  /** What λ removes by; null where nothing was scored. */
  readonly score: number | null;
  readonly removed: boolean;
}

export interface Candidate {
  readonly attempt: number;
  readonly origin: "drawn" | "backup" | "rewritten" | "by_hand" | "vetoed";
  readonly text: string;
  readonly spoken?: readonly SpokenPart[];
  readonly as_written: string | null;
  /** The model's reasoning before it, which is never said. */
  readonly thought?: string | null;
  readonly information: number | null;
  readonly inconsistency: number | null;
  readonly inconsistency_runs: readonly number[];
  readonly comment: string | null;
  readonly rewritable: boolean | null;
  readonly faults: readonly string[] | null;
  readonly probability: number | null;
  readonly string_seed: string | null;
  readonly remark: string | null;
  readonly chosen: boolean;
}

/** The scores that a scorer gave to the units of a prompt, by their ids. */
export interface Scorer {
  readonly scored_by: string;
  readonly run: string;
  readonly turn: number;
  readonly scores: Readonly<Record<string, number>>;
}

/** How an utterance came about: a turn's, or in an album chat a part of it. */
export interface Making {
  readonly run: string;
  readonly turn: number;
  readonly speaker: string | null;
  readonly text: string;
  readonly spoken?: readonly SpokenPart[];
  readonly sim_time_s: number;
  readonly ended: boolean;
  /** Why it is what it is, in one or two sentences. */
  readonly why?: string;
  readonly units: readonly Unit[];
  readonly candidates: readonly Candidate[];
  readonly removed_items: number;
  readonly remarks: readonly string[];
  readonly distinct_candidates: number;
  readonly rollbacks: number;
  readonly rewritings: number;
  readonly line_scored_by: string | null;
  /** What the line leaned on, most first; empty: on nothing in particular; null: not known. */
  readonly leaned_on: readonly Reason[] | null;
  /** By unit, what the line was measured to lose without it, in nats a token. */
  readonly measured: Readonly<Record<string, number>>;
  readonly scored_by: string | null;
  readonly judged_by: string | null;
  readonly removal_factor: number | null;
  readonly pace: string | null;
  readonly prompt: string | null;
  readonly removal: {
    readonly order: Order;
    readonly walk: Walk;
    /** What a placebo visits, in its random order. */
    readonly drawn: readonly DrawnUnit[];
    /** λ as it was recorded in the turn; null where nothing was scored, or `retained` was in its place. */
    readonly factor: number | null;
    readonly retained: string | null;
    /** What the removed share is a share of. */
    readonly whole: "attention" | "score";
  };
  readonly judge: string;
  readonly threshold: number | null;
  readonly revision: string;
  /** α of whoever spoke. */
  readonly context_strength: number | null;
  readonly scorers: readonly Scorer[];
}

export interface Exchange {
  readonly asker: string;
  readonly answerer: string;
  readonly picture: PictureOfExchange;
  readonly found: string;
  readonly similarity: number | null;
  readonly sight: string;
  readonly passed: boolean;
  readonly dropped: string | null;
  readonly plan: string;
  readonly question: string;
  readonly answer: string;
}

export interface TurnDocument extends Making {
  readonly round: number;
  /** Whether a stand-in spoke, and the parameters of a meeting that its minds are shown with. */
  readonly made_with: { readonly rehearsed: boolean; readonly parameters: Readonly<Record<string, unknown>> };
  readonly cognition?: readonly unknown[];
  readonly exchange?: Exchange;
  readonly parts?: Readonly<Record<string, Making>>;
}

type State = Readonly<Record<string, unknown>>;

/** An execution of a node. */
export interface Visit {
  readonly turn: number;
  readonly node: string;
  readonly agent: string;
  readonly before: State;
  readonly update: State | null;
  readonly after: State;
}

interface Cost {
  readonly calls: number;
  readonly prompt_tokens: number;
  readonly reply_tokens: number;
  readonly seconds: number | null;
}

export interface CostDocument {
  readonly cost: readonly (Cost & { readonly agent: string; readonly node: string })[];
  readonly models: readonly (Cost & { readonly model: string })[];
  readonly total: Cost;
}

/** The documents of viewer/documents/comparison.py. */

import type { Parent, Run } from "../documents";

export interface Side {
  readonly run: string;
  readonly turns: number;
  readonly kind: Run["kind"];
  readonly scenario: string;
  /** Null for a shipped dialogue. */
  readonly title: string | null;
  readonly order: string | null;
  readonly status: string;
  readonly model: string;
  readonly seed: number;
  readonly removal_factor: number | null;
  readonly label: string | null;
  readonly error: string | null;
  readonly parent: Parent | null;
  readonly silence_s: number;
  readonly people?: readonly string[];
  /** Who spoke first, and what they said, cut; null where nobody has. */
  readonly speaker?: string | null;
  readonly first_line?: string | null;
}

export interface Setting {
  readonly path: readonly string[];
  readonly a: unknown;
  readonly b: unknown;
}

export interface Said {
  readonly speaker: string | null;
  readonly text: string;
  readonly sim_time_s: number;
}

export interface Mind {
  readonly agent: string;
  readonly only_in_a: readonly string[];
  readonly only_in_b: readonly string[];
  readonly willingness: readonly [number | null, number | null];
  readonly latency_s: readonly [number | null, number | null];
}

/** A turn that differs; 0 is the preparation, which nobody speaks in. */
export interface TurnDifference {
  readonly turn: number;
  readonly only_in: "a" | "b" | null;
  readonly differs: readonly string[];
  readonly a?: Said | null;
  readonly b?: Said | null;
  readonly removed_only_in_a?: readonly string[];
  readonly removed_only_in_b?: readonly string[];
  /** In the words of `diff`: a subject, and how it differs. */
  readonly what: readonly (readonly [string, string])[];
  readonly scores: readonly { readonly unit: string; readonly a: number; readonly b: number }[];
  readonly minds: readonly Mind[];
}

/** Where two runs part, and which turns differ from there on; the differences are read a few turns at a time. */
export interface Comparison {
  readonly a: Side;
  readonly b: Side;
  readonly summary: string | null;
  readonly settings: readonly Setting[];
  readonly parting: string | null;
  readonly first_divergence: { readonly turn: number; readonly only_in: "a" | "b" | null } | null;
  /** Ascending. A later one may turn out to be the same once it is read. */
  readonly differing: readonly number[];
}

/** The document `diff/A/B/turns?of=…`. */
export interface TurnDifferences {
  readonly turns: readonly TurnDifference[];
  readonly same: readonly number[];
}

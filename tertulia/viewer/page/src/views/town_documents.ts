/** The documents of viewer/documents/town.py. */

import type { TownAgreement } from "./agreements";

export interface Encounter {
  readonly day: number;
  readonly number: number;
  /** ISO 8601, without a time zone. */
  readonly time: string;
  readonly place: string | null;
  readonly initiator: string;
  readonly partner: string;
  readonly activities: readonly [string | null, string | null];
  /** Empty until the conversation starts. */
  readonly run: string;
  readonly turns: number;
  /** Who spoke first, and what; null until somebody has spoken. */
  readonly speaker: string | null;
  readonly first_line: string | null;
  /** What the two had agreed on who meet for it. */
  readonly appointment: { readonly run: string; readonly what: string } | null;
}

export interface Day {
  readonly day: number;
  readonly date: string;
  readonly encounters: number;
  readonly turns: number;
  /** Of as many n-grams of each day as the day with the fewest has. */
  readonly dist1_equal: number | null;
  readonly dist2_equal: number | null;
  readonly dist3_equal: number | null;
  readonly repeated_lines: number | null;
  readonly len: number | null;
  readonly memories: number;
  readonly reflections: number;
}

export interface Town {
  readonly simulation: string;
  readonly status: string;
  readonly town: string;
  readonly model: string;
  readonly rehearsed: boolean;
  readonly seed: number;
  readonly days: number;
  readonly error: string | null;
  readonly removal_factor: number | null;
  readonly begins: string;
  readonly people: readonly string[];
  readonly encounters: readonly Encounter[];
  readonly by_day: readonly Day[];
  readonly agreements: readonly TownAgreement[];
}

/** Somebody at a place, between minutes after midnight. */
export interface Stay {
  readonly begins: number;
  readonly ends: number;
  readonly place: string | null;
  /** The building or square that the place is in. */
  readonly roof: string | null;
  readonly activity: string | null;
  readonly asleep: boolean;
}

/** The document of viewer/documents/whereabouts.py. */
export interface DayOfTown {
  readonly day: number;
  readonly date: string;
  readonly people: readonly { readonly name: string; readonly stays: readonly Stay[] }[];
  /** People who are left out. */
  readonly more: number;
}

export interface Memory {
  readonly id: string;
  readonly kind: string;
  readonly text: string;
  readonly created: string;
  readonly importance: number;
  readonly evidence: readonly string[];
}

export interface Person {
  readonly agent: string;
  readonly before: number;
  readonly memories: readonly Memory[];
  /** Texts of memories that insights rest on, by id. */
  readonly evidence: Readonly<Record<string, string>>;
}

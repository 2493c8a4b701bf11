/** The document of viewer/documents/figures.py. */

import type { Run } from "../documents";

type Column = readonly (number | null)[];

export interface AgentFigures {
  readonly agent: string;
  readonly latency: { readonly class: string | null; readonly scale_s: number; readonly spread_s: number } | null;
  readonly traits: readonly string[] | null;
  readonly setting: string | null;
  readonly spoken: number;
  readonly wanting_to_speak: number | null;
  readonly silent: number | null;
  readonly decisions: number | null;
  readonly mechanisms: Readonly<Record<string, { readonly on: number; readonly off: number }>> | null;
  readonly wanting_after_silence: number | null;
  readonly speaking_after_silence: number;
  readonly longest_unwilling: number | null;
  readonly words: number | null;
  readonly speaking_time_s: number | null;
  readonly share_of_utterances: number | null;
  readonly share_of_speaking_time: number | null;
}

export interface Participation {
  readonly agents: readonly AgentFigures[];
  readonly turns: number;
  readonly silences: number;
  readonly silence_s: number;
  readonly sim_minutes: number | null;
  readonly evenness: number | null;
}

export interface Figures {
  readonly run: string;
  readonly kind: Run["kind"];
  readonly scenario: string;
  readonly label: string | null;
  readonly removal_factor: number | null;
  readonly seed: number;
  readonly people: readonly string[];
  readonly dist1: number | null;
  readonly dist2: number | null;
  readonly dist3: number | null;
  readonly len: number | null;
  /** Utterances over which the running mean of lengths is taken. */
  readonly window: number;
  /** Columns of one length, an entry for each utterance. */
  readonly utterances: {
    readonly turn: readonly number[];
    readonly speaker: readonly string[];
    readonly words: readonly number[];
    readonly mean_words: Column;
    readonly dist1: Column;
    readonly dist2: Column;
    readonly dist3: Column;
  };
  /** Columns of one length, an entry for each turn in which somebody spoke; null where nothing was scored. */
  readonly making: {
    readonly turn: readonly number[];
    readonly rollbacks: readonly number[];
    readonly removed: Column;
    readonly removable: Column;
  };
  readonly participation: Participation | null;
}

/** The documents of minds as tertulia/reading/documents.py and viewer/documents/minds.py write them; what was not recorded is `null`. */

import type { Reason } from "../../leaning";

export const PARTS = ["topic", "goal", "emotion", "personality"] as const;
export type Part = (typeof PARTS)[number];
export type OfParts = Readonly<Record<Part, number>>;

export interface Perception {
  readonly turn: number | null;
  readonly relevance: number;
  readonly named: boolean;
  readonly noticed: boolean;
  readonly reason: string | null;
  readonly importance: number;
}

export interface Finding {
  readonly lines: readonly string[];
  readonly problem: string | null;
}

/** An agent in a round. */
export interface Mind {
  readonly agent: string;
  readonly perception: Perception;
  readonly situation_summary: string | null;
  readonly key_information: string | null;
  readonly character_analysis: string | null;
  readonly decision_reason: string | null;
  readonly mechanisms: Readonly<Record<string, { readonly active: boolean; readonly reason: string }>>;
  readonly findings: Readonly<Record<string, Finding>>;
  readonly situation: string | null;
  readonly thought: string | null;
  readonly emotion: string | null;
  readonly emotion_strength: number | null;
  readonly plan_done: readonly boolean[] | null;
  readonly willingness: number | null;
  readonly willingness_parts: OfParts | null;
  readonly willingness_ratings: Readonly<Record<Part, { readonly rating: number; readonly reason: string }>> | null;
  readonly weights: OfParts;
  readonly willing: boolean | null;
  readonly similarity: number | null;
  readonly similarity_max: number | null;
  readonly latency_scale_s: number | null;
  readonly latency_spread_s: number | null;
  readonly persistence: number | null;
  readonly address: number | null;
  readonly need: number | null;
  readonly yielded_s: number | null;
  readonly latency_s: number | null;
  readonly won: boolean | null;
  readonly typed: string | null;
  /** What raised or lowered the bid, from the record; null without a bid, and for a person. */
  readonly bid_reasons?: {
    readonly parts: readonly { readonly part: Part; readonly weighted: number; readonly change: number | null }[];
    readonly in_words: string;
  } | null;
}

/** What a thought leaned on, most first; empty: on nothing in particular. */
export interface Thought {
  readonly leaned_on: readonly Reason[] | null;
  readonly in_words: string;
}

/** How the floor was given. */
export interface Floor {
  readonly order: string;
  readonly waited_s: number | null;
  readonly looks: number;
  readonly tied: readonly string[];
  readonly gone: readonly string[];
  /** Why an agent chose the speaker, or the first of `gone`; if `drawn`, why none did. */
  readonly reason: string | null;
  readonly drawn: boolean;
}

export interface TurnOfMeeting {
  readonly turn: number;
  readonly speaker: string | null;
  readonly cognition?: readonly Mind[];
  /** By agent, the thoughts that somebody had read. */
  readonly thoughts?: Readonly<Record<string, Thought>>;
  readonly floor?: Floor | null;
}

export interface PlanStep {
  readonly text: string;
  readonly share: number;
}

export interface Opening {
  readonly description: string;
  readonly characters: readonly {
    readonly agent: string;
    readonly big_five: readonly string[];
    readonly descriptions: readonly string[];
    readonly plan: readonly PlanStep[];
  }[];
  readonly people: readonly {
    readonly agent: string;
    readonly age: number | null;
    readonly traits: string | null;
    readonly background: string | null;
    readonly lifestyle: string | null;
    readonly setting: string | null;
    readonly goals: readonly string[];
    readonly interests: readonly string[];
    readonly relations: readonly { readonly agent: string; readonly relation: string }[];
    readonly model: string | null;
  }[];
}

/** An agent in a round, in short. */
export interface RoundInShort {
  readonly round: number;
  readonly noticed: boolean;
  readonly relevance: number;
  readonly thought: string | null;
  readonly emotion: string | null;
  readonly emotion_strength: number | null;
  readonly mechanisms: readonly string[] | null;
  readonly parts: OfParts | null;
  readonly willingness: number | null;
  readonly willing: boolean | null;
  readonly latency_s: number | null;
  readonly won: boolean | null;
  readonly typed: string | null;
}

export interface AgentInRun {
  readonly agent: string;
  readonly threshold: number;
  readonly mechanisms: readonly string[];
  readonly weights: OfParts | null;
  readonly turns: readonly { readonly turn: number; readonly text: string }[];
  readonly cognition: readonly RoundInShort[];
}

/** Parameters of a run that its minds are shown with. */
export interface MindParameters {
  readonly willingness_threshold: number;
  readonly perception_threshold: number;
  readonly latency_form: "as_printed" | "moment_matched";
  readonly reevaluation_s: number;
  readonly silence_s: number;
  readonly seat_clock: "waits" | "runs";
  readonly order: string;
}

/** Return the parameters of a run, with the defaults of what an older one did not record. */
export function mindParameters(recorded: Readonly<Record<string, unknown>>): MindParameters {
  return {
    willingness_threshold: 0.5,
    perception_threshold: 0,
    latency_form: "as_printed",
    reevaluation_s: 1.5,
    silence_s: 10,
    seat_clock: "waits",
    order: "self_driven",
    ...recorded,
  };
}

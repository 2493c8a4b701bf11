/** The documents of viewer/documents/by_path.py, as far as the page reads them. */

export interface Parent {
  readonly run: string;
  readonly turn: number;
}

/** A run in the list of all. */
export interface RunRow {
  readonly run: string;
  readonly status: string;
  /** Why it finished or was interrupted. */
  readonly ended_by: string | null;
  readonly scenario: string;
  readonly name: string;
  readonly order: string | null;
  readonly model: string;
  readonly seed: number;
  readonly turns: number;
  readonly parent: Parent | null;
  readonly simulation: string | null;
  readonly removal_factor: number | null;
  readonly rehearsed: boolean;
  readonly created: string;
  readonly date: string;
  readonly label: string | null;
  readonly error: string | null;
  readonly kind?: Run["kind"];
  readonly people?: readonly string[];
  /** Who spoke first, and what they said, cut; null where nobody has. */
  readonly speaker?: string | null;
  readonly first_line?: string | null;
}

/** A run without its turns. */
export interface Run {
  readonly run: string;
  readonly kind: "dialogue" | "group_chat" | "album_chat";
  readonly status: string;
  /** Why it finished or was interrupted. */
  readonly ended_by: string | null;
  readonly scenario: string;
  readonly model: string;
  readonly rehearsed: boolean;
  readonly seed: number;
  readonly parameters: Readonly<Record<string, unknown>> & { readonly removal_factor: number };
  /** By model, the parameters of sampling that its server did not take: with which it drew is unknown. */
  readonly unsent?: Readonly<Record<string, readonly string[]>>;
  readonly parent: Parent | null;
  readonly error: string | null;
  readonly people: readonly string[];
  /** The simulated time at which it began, ISO 8601. */
  readonly begins: string;
  readonly date: string;
  readonly label: string | null;
  readonly turns: number;
  readonly silence_s: number;
  readonly speaking_rate_wpm: number;
  readonly simulation: string | null;
}

/** A bid for the floor; `latency_s` is null for who did not race. */
export interface TurnBid {
  readonly agent: string;
  readonly willingness: number;
  readonly latency_s: number | null;
  readonly won: boolean;
}

/** A turn in the list of all; a silence has no speaker. */
export interface TurnRow {
  readonly turn: number;
  readonly round: number;
  readonly speaker: string | null;
  readonly text: string;
  readonly sim_time_s: number;
  readonly time: string;
  readonly ended: boolean;
  readonly bids: readonly TurnBid[];
}

export interface Turns {
  readonly run: string;
  readonly status: string;
  /** Why it finished or was interrupted. */
  readonly ended_by: string | null;
  readonly turns: readonly TurnRow[];
}

/** A fork as it is being made: what it changes, its command, and what the server is asked for. */

/** Changes besides parameters, as `fork` takes them (viewer/fork_changes.py). */
export interface Changes {
  readonly say?: string;
  readonly label?: string;
  readonly person?: readonly (readonly [string, string])[];
  readonly remember?: readonly (readonly [string, string])[];
  readonly forget?: readonly (readonly [string, string])[];
  readonly mechanisms?: readonly string[];
}

export interface Draft {
  readonly run: string;
  readonly at: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly changes: Changes;
}

/** What the server is asked to start. */
export type Asked =
  | { readonly action: "fork"; readonly run: string; readonly at: number; readonly settings: Readonly<Record<string, string>>; readonly changes: Changes }
  | { readonly action: "resume"; readonly run: string };

export const askedOf = (draft: Draft): Asked => ({ action: "fork", ...draft });

/** The most characters of a text, as the server has it (LONGEST_TEXT in viewer/fork_changes.py). */
export const LONGEST_TEXT = 10_000;

const OPTIONS: Readonly<Record<string, string>> = { removal_factor: "--lambda", seed: "--seed" };

/** Return the arguments of the fork, as viewer/documents/actions.py makes them. */
export function forkWords({ run, at, settings, changes }: Draft, store: readonly string[]): string[] {
  const given = Object.entries(settings).flatMap(([name, value]) =>
    OPTIONS[name] === undefined ? ["--set", `${name}=${value}`] : option(OPTIONS[name], value),
  );
  const texts = (["say", "label"] as const).flatMap((name) => (changes[name] === undefined ? [] : option(`--${name}`, changes[name]!)));
  const pairs = (["person", "remember", "forget"] as const).flatMap((name) =>
    (changes[name] ?? []).flatMap(([whom, what]) => option(`--${name}`, `${whom}=${what}`)),
  );
  const mechanisms = changes.mechanisms === undefined ? [] : option("--mechanisms", changes.mechanisms.join(",") || "none");
  return ["fork", run, "--at", String(at), ...given, ...texts, ...pairs, ...mechanisms, ...store];
}

/** An option with its value; in one word where the value could be taken for an option. */
function option(name: string, value: string): string[] {
  return value.startsWith("-") ? [`${name}=${value}`] : [name, value];
}

/** What λ, order and walk are in a run, or are to be in a fork. */
export interface Removing {
  readonly factor: number;
  readonly order: string;
  readonly walk: string;
}

/** Return the parameters by which a fork removes otherwise than its parent. */
export function removingSettings(of: Removing, run: Removing): Record<string, string> {
  return {
    ...(of.factor === run.factor ? {} : { removal_factor: String(of.factor) }),
    ...(of.order === run.order ? {} : { removal_order: of.order }),
    ...(of.walk === run.walk ? {} : { removal_walk: of.walk }),
  };
}

/** Whether a fork would say the same again: no parameter and nothing else is changed; a label changes nothing. */
export function changesNothing({ settings, changes }: Draft): boolean {
  return Object.keys(settings).length === 0 && Object.keys(changes).every((name) => name === "label");
}

/** Return why a text is too long for a command, or nothing. */
export function tooLong(what: string, text: string): string | null {
  const length = [...text].length;
  if (length <= LONGEST_TEXT) return null;
  return `${what} has ${length.toLocaleString("en")} characters; it may have at most ${LONGEST_TEXT.toLocaleString("en")}. Shorten it.`;
}

/** Typed text on one line. */
export const onOneLine = (text: string) => text.replace(/\s+/g, " ").trim();

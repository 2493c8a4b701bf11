/** A conversation that is about to be begun, as it was typed: kept by the browser until it has begun, and sent. */

/** A person who is typed, not brought in a file. */
export interface Typed {
  readonly name: string;
  readonly who: string;
  readonly memories: string;
}

/** What was typed and chosen; null where nothing was. */
export interface Draft {
  readonly source: "own" | "shipped";
  readonly scenario: string;
  readonly typed: readonly Typed[];
  readonly situation: string | null;
  readonly place: string | null;
  readonly time: string | null;
  readonly visitor: string | null;
  readonly factor: number;
  readonly model: string;
  readonly seed: string;
  readonly rounds: string;
}

/** The most people that are typed, as the server has it (viewer/new_run.py). */
export const MOST_TYPED = 6;
export const NOBODY: Typed = { name: "", who: "", memories: "" };
export const UNTOUCHED: Draft = {
  source: "own", scenario: "", typed: [], situation: null, place: null, time: null, visitor: null,
  factor: 0.5, model: "", seed: "1", rounds: "",
};

const KEY = "tertulia-new";

export function keptDraft(): Draft {
  try {
    return { ...UNTOUCHED, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Draft>) };
  } catch {
    return UNTOUCHED;
  }
}

export function keepDraft(draft: Draft | null): void {
  try {
    if (draft === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify(draft));
  } catch {
    // kept all the same, for as long as the page is open
  }
}

export const isBlank = ({ name, who, memories }: Typed) => !(name + who + memories).trim();

/** Return whether something of a draft was typed that files would join. */
export const isUnfinished = ({ typed, situation, place, time, visitor }: Draft) =>
  typed.some((person) => !isBlank(person)) || [situation, place, time, visitor].some((value) => value !== null);

/** Return the people that are shown: two at least, unless files have some. */
export function shownTyped(typed: readonly Typed[], hasFiles: boolean): readonly Typed[] {
  const missing = hasFiles ? 0 : Math.max(0, 2 - typed.length);
  return [...typed, ...Array<Typed>(missing).fill(NOBODY)];
}

/** Return the places of the people that are sent, then those of the blank ones, which the server may ask for. */
export function placesOf(typed: readonly Typed[]): number[] {
  const places = typed.map((_, place) => place);
  return [...places.filter((place) => !isBlank(typed[place]!)), ...places.filter((place) => isBlank(typed[place]!))];
}

/** Return the field of the form that the server means, which counts people without blank ones; null if it is not shown. */
export function fieldShown(field: string, typed: readonly Typed[]): string | null {
  const [, number = "", name] = /^typed\.(\d+)\.(\w+)$/.exec(field) ?? [];
  if (name === undefined) return field;
  const place = placesOf(typed)[Number(number)];
  return place === undefined ? null : `typed.${place}.${name}`;
}

/** Return the people of a conversation as the server takes them. */
export function peopleAsked(draft: Draft, files: readonly string[]): unknown {
  if (draft.source === "shipped") return { scenario: draft.scenario };
  const { situation, place, visitor } = draft;
  const time = draft.time ?? (files.length ? null : thisHour());
  return { files, typed: draft.typed.filter((person) => !isBlank(person)), situation, place, time, visitor: visitor ?? "" };
}

/** Return a conversation as the server takes it. */
export function asked(draft: Draft, files: readonly string[]): unknown {
  const { factor, model, seed, rounds } = draft;
  return { people: peopleAsked(draft, files), lambda: factor, model, seed: seed.trim(), rounds: rounds.trim() };
}

/** Return the beginning of this hour as the field of a form has it. */
export function thisHour(now = new Date()): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}T${two(now.getHours())}:00`;
}

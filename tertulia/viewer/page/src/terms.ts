/** The terms that the page explains: those of the option `--explain`, from one file. */

import glossary from "../../../lab/glossary.json";

export type TermName = keyof typeof glossary;

interface Entry {
  readonly says: string;
  /** The words by which texts use the term; without them, its name. */
  readonly seen?: readonly string[];
}

const ENTRIES = Object.entries(glossary as Record<string, Entry>) as [TermName, Entry][];

/** The term of each word, longest words first. */
const NAMES = new Map(
  ENTRIES.flatMap(([name, { seen }]) => (seen ?? [name]).map((word) => [word.toLowerCase(), name] as const))
    .sort(([a], [b]) => b.length - a.length),
);
const WORDS = [...NAMES.keys()].map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
const USED = new RegExp(`(?<![\\w-])(${WORDS})(?![\\w-])`, "gi");

/** Return the sentence of a term; undefined where a name is none. */
export function sentenceOf(name: string): string | undefined {
  return Object.hasOwn(glossary, name) ? (glossary as Record<string, Entry>)[name]!.says : undefined;
}

/** A part of a text: a term by the word that the text has for it, or what stands between terms. */
type Part = string | { readonly name: TermName; readonly word: string };

/** Return a text of the program in parts: each term where it stands first, and all between as it is. */
export function inParts(text: string): readonly Part[] {
  const known = new Set<TermName>();
  return text.split(USED).flatMap((part, place): Part[] => {
    const name = place % 2 ? NAMES.get(part.toLowerCase())! : null;
    if (name === null || known.has(name)) return part ? [part] : [];
    known.add(name);
    return [{ name, word: part }];
  });
}

/** Which turns hold a term. */

/** What is searched of a turn. */
export interface Searched {
  readonly text: string;
  readonly speaker: string | null;
  readonly exchange?: { readonly answer: string; readonly answerer: string };
}

/** Return what matches a term as it is written, whatever its case; `null` for an empty one. */
export function patternOf(term: string): RegExp | null {
  const trimmed = term.trim();
  return trimmed ? new RegExp(trimmed.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu") : null;
}

/** Return the indexes of the turns in which a term stands: in their words, or in the name of who spoke. */
export function matching(turns: readonly Searched[], term: string): readonly number[] {
  const pattern = patternOf(term);
  if (pattern === null) return [];
  const has = (text: string | null | undefined) => {
    pattern.lastIndex = 0;
    return !!text && pattern.test(text);
  };
  return turns.flatMap((turn, index) =>
    has(turn.text) || has(turn.speaker) || has(turn.exchange?.answer) || has(turn.exchange?.answerer) ? [index] : [],
  );
}

/** Words that are looked for in a transcript. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { counted } from "../../format";
import { goWith } from "../../router";
import type { ConversationTurn } from "./documents";
import { matching, patternOf } from "./search";

/** Return a text with a term marked wherever it stands. */
export function highlighted(text: string, term: string): ComponentChildren {
  const pattern = patternOf(term);
  if (pattern === null) return text;
  const parts: ComponentChildren[] = [];
  let done = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > done) parts.push(text.slice(done, match.index));
    parts.push(<mark key={match.index}>{match[0]}</mark>);
    done = match.index + match[0].length;
  }
  return done ? [...parts, text.slice(done)] : text;
}

/** A field for a term, how many turns have it, and the way to the next one. */
export function FindField({
  turns,
  term,
  chosen,
  choose,
}: {
  turns: readonly ConversationTurn[];
  term: string;
  chosen: number;
  choose: (index: number) => void;
}) {
  const found = useMemo(() => matching(turns, term), [turns, term]);
  const next = (step: 1 | -1) => {
    const onward = step === 1 ? found.find((index) => index > chosen) : found.findLast((index) => index < chosen);
    const to = onward ?? (step === 1 ? found[0] : found.at(-1));
    if (to !== undefined) choose(to);
  };
  const place = found.indexOf(chosen);
  return (
    <span class="row find" role="search">
      <input
        type="search"
        aria-label="Find in the transcript"
        placeholder="Find"
        value={term}
        onInput={(event) => goWith({ find: event.currentTarget.value })}
        onKeyDown={(event) => event.key === "Enter" && next(event.shiftKey ? -1 : 1)}
      />
      {term.trim() && (
        <>
          <button onClick={() => next(-1)} disabled={!found.length} aria-label="Previous match">↑</button>
          <button onClick={() => next(1)} disabled={!found.length} aria-label="Next match">↓</button>
          <span class="small number" role="status">
            {place >= 0 ? `${place + 1} of ${found.length}` : counted(found.length, "turn")}
          </span>
        </>
      )}
    </span>
  );
}

/** The parts of an album chat's turn: the plan, the question, which is the turn's own utterance, and the answer. */

import { Spoken } from "../../components/spoken";
import { hrefOf, usePlace } from "../../router";
import type { Making, TurnDocument } from "../turn_documents";

const PARTS = ["plan", "question", "answer"] as const;

/** Return the part of a turn that is asked for; its own utterance where it has no such part. */
export function partOf(document: TurnDocument, part: string | undefined): Making {
  return (part !== undefined && document.parts && Object.hasOwn(document.parts, part) && document.parts[part]) || document;
}

/** What two did in the exchange; each of its texts can be chosen, to see how it came about. */
export function PartChooser({ document, chosen }: { document: TurnDocument; chosen: string | undefined }) {
  const { path, query } = usePlace();
  const { exchange, parts } = document;
  if (!exchange) return null;
  const shown = chosen !== undefined && parts && Object.hasOwn(parts, chosen) ? chosen : "question";
  const speakers = { plan: exchange.asker, question: exchange.asker, answer: exchange.answerer };
  return (
    <div class="exchange stack">
      <ul class="parts" aria-label="Parts of the exchange">
        {PARTS.map((part) => (
          <li key={part}>
            <a href={hrefOf(path, { ...query, part: part === "question" ? null : part })} aria-current={part === shown ? "true" : undefined}>
              <span class="small">{part}, <bdi class="data">{speakers[part]}</bdi></span>
              <span class="words data"><Spoken text={exchange[part]} parts={(part === "question" ? document : parts?.[part])?.spoken} /></span>
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}

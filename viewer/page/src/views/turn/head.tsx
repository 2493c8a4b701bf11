/** The head of a turn: who said what and when, what was done to its prompt, and the turns beside it. */

import { Speaker } from "../../components/speakers";
import type { Run } from "../../documents";
import { counted, elapsed, inWords, lambda } from "../../format";
import { hrefOf, usePlace } from "../../router";
import { ForkPanel } from "../fork/panel";
import type { Making, TurnDocument } from "../turn_documents";
import { LongText } from "./long_text";

export function Head({ run, document, making }: { run: Run; document: TurnDocument; making: Making }) {
  const { path, query } = usePlace();
  const beside = (turn: number) => hrefOf(path, { ...query, turn, node: null });
  const isFirst = document.turn <= 1;
  const isLast = document.turn >= run.turns;
  return (
    <header class="turn-head stack">
      <div class="row">
        <h2>Turn {document.turn}</h2>
        {making.speaker && <Speaker people={run.people} name={making.speaker} />}
        <span class="muted small number">{elapsed(document.sim_time_s)}</span>
        <nav class="row beside" aria-label="Turns beside this one">
          {!isFirst && (
            <a class="button" href={beside(document.turn - 1)}>
              <span aria-hidden="true">←</span><span class="visually-hidden">Previous: turn </span>{document.turn - 1}
            </a>
          )}
          {!isLast && (
            <a class="button" href={beside(document.turn + 1)}>
              <span class="visually-hidden">Next: turn </span>{document.turn + 1}<span aria-hidden="true">→</span>
            </a>
          )}
        </nav>
      </div>
      {making.speaker === null
        ? <p class="muted">… silence: nobody took the floor</p>
        : <blockquote class="utterance words"><LongText text={making.text} most={2000} /></blockquote>}
      <div class="done">
        <ul class="tags" aria-label="What was done">
          {tagsOf(run, making).map((tag) => <li key={tag} class="tag data">{tag}</li>)}
        </ul>
        <ForkPanel run={run} turn={document.turn} said={document.speaker === null ? null : { speaker: document.speaker, text: document.text }} />
      </div>
    </header>
  );
}

function tagsOf(run: Run, making: Making): string[] {
  if (making.speaker === null) return [];
  if (making.prompt === null) return ["written by hand"];
  const removable = making.units.filter((unit) => unit.removable).length;
  const { factor, retained } = making.removal;
  const tags = [retained && factor === null ? `retained: ${retained}` : `λ = ${lambda(making.removal_factor)}`];
  if (making.scored_by) tags.push(`removed ${making.removed_items} of ${removable} items`, `scored by ${making.scored_by}`);
  else tags.push("not scored");
  if (making.judged_by) {
    tags.push(rollbacksInWords(making.rollbacks));
    if (making.rewritings) tags.push(`${making.rewritings} rewritten`);
    tags.push(`judge: ${making.judged_by}`);
  } else tags.push("not judged");
  if (making.ended) tags.push("ended the conversation");
  return [...tags, ...variationsOf(run, making)];
}

function rollbacksInWords(rollbacks: number): string {
  if (!rollbacks) return "not rolled back";
  return `rolled back ${rollbacks === 1 ? "once" : counted(rollbacks, "time")}`;
}

/** Return how the prompt was varied before it was scored, and what was asked for, where the run wanted that. */
function variationsOf(run: Run, making: Making): string[] {
  const { removed_blocks, block_lengths, names, generation, context_strength } = run.parameters;
  const variations: string[] = [];
  if (removed_blocks) variations.push(`blocks left out: ${String(removed_blocks)}`);
  if (block_lengths) variations.push(`lengths: ${String(block_lengths)}`);
  if (typeof names === "string" && names !== "own") variations.push(`names: ${inWords(names)}`);
  if (generation === "sequential") variations.push(`${making.distinct_candidates} distinct candidates in one reply`);
  if (generation === "verbalized") variations.push(`${making.distinct_candidates} distinct replies with probabilities`);
  if (generation === "string_seed") variations.push("a random string before the reply");
  if (context_strength) variations.push(`α = ${String(context_strength)}`);
  return variations;
}

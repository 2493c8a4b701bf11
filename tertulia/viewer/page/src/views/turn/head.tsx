/** The head of a turn: who said what and when, what was done to its prompt, and the turns beside it. */

import type { ComponentChildren } from "preact";
import { Prose } from "../../components/explained";
import { Speaker } from "../../components/speakers";
import type { Run } from "../../documents";
import { elapsed, inWords, lambda } from "../../format";
import { hrefOf, usePlace } from "../../router";
import { ForkPanel } from "../fork/panel";
import type { Making, TurnDocument } from "../turn_documents";
import { LongText } from "./long_text";

interface Props {
  readonly run: Run;
  readonly document: TurnDocument;
  readonly making: Making;
  /** Stands below the words. */
  readonly children: ComponentChildren;
}

export function Head({ run, document, making, children }: Props) {
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
        : !isInCards(document, making) && <blockquote class="utterance words"><LongText text={making.text} parts={making.spoken} most={2000} /></blockquote>}
      {children}
      <div class="done">
        <ul class="tags" aria-label="What was done">
          {[...tagsOf(run, making), ...picturesOf(document)].map((tag) => <li key={tag} class="tag data"><Prose text={tag} /></li>)}
        </ul>
        <ForkPanel run={run} turn={document.turn} said={document.speaker === null ? null : { speaker: document.speaker, text: document.text }} />
      </div>
    </header>
  );
}

/** Letters of a text that the card of a part shows whole. */
const IN_CARD = 240;

/** Whether the words stand in the cards of an exchange, so that they need not stand above them too. */
function isInCards(document: TurnDocument, making: Making): boolean {
  return document.parts !== undefined && making.text.length <= IN_CARD;
}

function tagsOf(run: Run, making: Making): string[] {
  if (making.speaker === null) return [];
  if (making.prompt === null) return ["written by hand"];
  const { factor, retained } = making.removal;
  const tags = [retained && factor === null ? `retained: ${retained}` : `λ = ${lambda(making.removal_factor)}`];
  tags.push(making.scored_by ? `scored for λ by ${making.scored_by}` : "not scored for λ");
  tags.push(making.judged_by ? `judge: ${making.judged_by}` : "not judged");
  if (making.rewritings) tags.push(`${making.rewritings} rewritten`);
  if (making.ended) tags.push("ended the conversation");
  return [...tags, ...variationsOf(run, making)];
}

/** Return what became of the picture of an exchange, and how it was known. */
function picturesOf({ exchange }: TurnDocument): string[] {
  if (!exchange) return [];
  const { sight, passed, dropped } = exchange;
  return [sight, ...(passed ? [dropped === null ? "passed on" : `passed on in place of ${dropped}`] : [])];
}

/** Return how the prompt was varied before it was scored, and what was asked for, where the run wanted that. */
function variationsOf(run: Run, making: Making): string[] {
  const { removed_blocks, block_lengths, names, generation } = run.parameters;
  const variations: string[] = [];
  if (removed_blocks) variations.push(`blocks left out: ${String(removed_blocks)}`);
  if (block_lengths) variations.push(`lengths: ${String(block_lengths)}`);
  if (typeof names === "string" && names !== "own") variations.push(`names: ${inWords(names)}`);
  if (generation === "sequential") variations.push(`${making.distinct_candidates} distinct candidates in one reply`);
  if (generation === "verbalized") variations.push(`${making.distinct_candidates} distinct replies with probabilities`);
  if (generation === "string_seed") variations.push("a random string before the reply");
  if (making.context_strength) variations.push(`α = ${making.context_strength}`);
  return variations;
}

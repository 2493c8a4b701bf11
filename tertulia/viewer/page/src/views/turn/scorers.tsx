/** Scorers of one prompt side by side: who they are, and how much of what they remove is the same. */

import { Command } from "../../components/command";
import { hrefOf } from "../../router";
import type { Removal } from "../../pruning";
import { source } from "../../source";
import type { Scorer } from "../turn_documents";

/** The letter that stands for a scorer where there is no room for its name. */
export function letterOf(place: number): string {
  return String.fromCharCode(65 + place);
}

interface Props {
  readonly scorers: readonly Scorer[];
  readonly removals: readonly Removal[];
  readonly run: string;
  readonly turn: number;
  readonly isOwn: boolean;
}

export function ScorersInWords({ scorers, removals, run, turn, isOwn }: Props) {
  if (scorers.length < 2) {
    return isOwn && !source.isFile ? (
      <details class="small another">
        <summary>Compare with another scorer</summary>
        <p>This fork scores the same prompt with another scorer; its scores are then shown beside these:</p>
        <p><Command words={["fork", run, "--at", `${turn}`, "--rounds", `${turn}`, "--set", "nodes.score=embedding_similarity"]} /></p>
      </details>
    ) : null;
  }
  return (
    <ul class="scorers small" aria-label="Scorers of this prompt">
      {scorers.map((scorer, place) => (
        <li key={scorer.scored_by}>
          <b>{letterOf(place)}</b> <span class="data">{scorer.scored_by}</span>
          {" "}({scorer.run === run ? "this run" : <RunLink scorer={scorer} />}):{" "}
          {place === 0 ? `${removals[0]!.items.size} items removed` : <Overlap a={removals[0]!} b={removals[place]!} letter={letterOf(place)} />}
        </li>
      ))}
    </ul>
  );
}

function RunLink({ scorer }: { scorer: Scorer }) {
  if (source.isFile) return <>run {scorer.run}</>;
  return <a href={hrefOf(["runs", scorer.run], { turn: scorer.turn })}>run {scorer.run}</a>;
}

function Overlap({ a, b, letter }: { a: Removal; b: Removal; letter: string }) {
  const both = [...a.items].filter((id) => b.items.has(id)).length;
  return (
    <>
      {b.items.size} items removed, {both} of them also by A; only by A: {a.items.size - both}, only by {letter}: {b.items.size - both}
    </>
  );
}

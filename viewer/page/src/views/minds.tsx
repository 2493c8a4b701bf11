/** The minds of a meeting: of one round, and of one agent through the whole run. */

import type { Run } from "../documents";

/** Everybody's mind in the round of a turn, and the race; a pane beside the turn. */
export function RoundMinds({ run, turn }: { run: Run; turn: number }) {
  return <p>{run.run} {turn}</p>;
}

/** An agent through the whole run. */
export function MindsView({ run }: { run: Run }) {
  return <h2>{run.run}</h2>;
}

/** The minds of a meeting: of one round, and of one agent through the whole run. */

import type { Run } from "../documents";
import type { Standing } from "../live";

export function RoundMinds({ run, turn }: { run: Run; turn: number }) {
  return <p>{run.run} {turn}</p>;
}

export function MindsView({ run }: { run: Run; live: Standing | null }) {
  return <h2>{run.run}</h2>;
}

/** How a turn came about: its prompt with scores and the λ slider, candidates, minds, states and cost. */

import type { Run } from "../documents";

export function TurnPane({ run, turn }: { run: Run; turn: number }) {
  return <section aria-label={`Turn ${turn}`}><h2>Turn {turn}</h2><p>{run.run}</p></section>;
}

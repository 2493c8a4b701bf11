/** How a turn came about: its prompt with scores and the λ slider, candidates, minds, states and cost. */

import type { Run } from "../documents";
import { RoundMinds } from "./minds";

export function TurnPane({ run, turn }: { run: Run; turn: number }) {
  return <section class="stack" aria-label={`Turn ${turn}`}><h2>Turn {turn}</h2><RoundMinds run={run} turn={turn} /></section>;
}

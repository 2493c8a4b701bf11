/** Figures of a run. */

import type { Run } from "../documents";

export function FiguresView({ run }: { run: Run }) {
  return <h2>{run.run}</h2>;
}

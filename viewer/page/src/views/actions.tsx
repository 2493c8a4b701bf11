/** What may be done with a run. */

import type { Run } from "../documents";

export function ResumePanel(_: { run: Run }) {
  return null;
}

export function ForkPanel(_: { run: Run; turn: number }) {
  return null;
}

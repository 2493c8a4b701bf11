/** What may be done with a run. */

import type { Run } from "../documents";

export function ResumePanel(_: { run: Run }) {
  return null;
}

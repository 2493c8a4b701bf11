/** All runs of the store. */

import { WithDocument } from "../components/parts";
import type { RunRow } from "../documents";
import { hrefOf } from "../router";
import { useDocument } from "../use_document";

export function RunsView() {
  const runs = useDocument<{ runs: readonly RunRow[] }>("runs");
  return (
    <main class="view">
      <h1>Runs</h1>
      <WithDocument of={runs}>
        {({ runs }) => (
          <ul>{runs.map((run) => <li key={run.run}><a href={hrefOf(["runs", run.run])}>{run.run}</a> {run.name}</li>)}</ul>
        )}
      </WithDocument>
    </main>
  );
}

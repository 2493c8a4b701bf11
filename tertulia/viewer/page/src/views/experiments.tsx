/** All experiments of the store, those without a run too, and how far each is. */

import { Notice, Tabs, WithDocument } from "../components/parts";
import { counted } from "../format";
import { hrefOf } from "../router";
import "../styles/experiment.css";
import { useDocument } from "../use_document";

interface Listed {
  readonly experiment: string;
  readonly error: string | null;
  readonly description?: string;
  readonly model?: string;
  readonly settings?: number;
  readonly cases?: number;
  readonly trials?: number;
  readonly finished?: number;
  readonly failed?: number;
  readonly missing?: number;
  readonly created?: string;
}

/** The two lists of a store, as links. */
export function Lists({ shown }: { shown: "Runs" | "Experiments" }) {
  return <Tabs label="Lists" links={[["Runs", hrefOf(["runs"])], ["Experiments", hrefOf(["experiments"])]]} shown={shown} />;
}

export function ExperimentsView() {
  const read = useDocument<{ readonly experiments: readonly Listed[] }>("experiments");
  return (
    <main class="view experiments">
      <div class="heading"><h1>Experiments</h1><Lists shown="Experiments" /></div>
      <WithDocument of={read}>
        {({ experiments }) => (experiments.length ? experiments.map((found) => <One key={found.experiment} found={found} />) : <Empty />)}
      </WithDocument>
    </main>
  );
}

function Empty() {
  return (
    <Notice title="There are no experiments yet">
      <p>One compares settings over several cases, each with trials of its own. This one needs no model:</p>
      <p><code>tertulia sweep tidewell --lambda 0,0.5,1 --trials 2 --rehearse</code></p>
    </Notice>
  );
}

function One({ found }: { found: Listed }) {
  const { finished = 0, failed = 0, missing = 0 } = found;
  const planned = finished + failed + missing;
  const words = finished >= planned ? `all ${counted(planned, "conversation")} finished` : `${finished.toLocaleString("en")} of ${counted(planned, "conversation")} finished`;
  return (
    <section class="card stack">
      <h2><a class="data" href={hrefOf(["experiments", found.experiment])}>{found.experiment}</a></h2>
      {found.error && <p class="small data">{found.error}</p>}
      {found.description && <p class="about data">{found.description}</p>}
      {!found.error && (
        <p class="small muted data">
          {counted(found.cases ?? 0, "case")} × {counted(found.settings ?? 0, "setting")} × {counted(found.trials ?? 0, "trial")}; {words}
          {failed > 0 && `, ${failed} failed`}; {found.model}, {found.created}
        </p>
      )}
    </section>
  );
}

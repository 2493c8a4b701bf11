/** The conversations behind a point, each with that of the baseline to compare it with. */

import { useEffect, useRef } from "preact/hooks";
import { Status, WithDocument } from "../../components/parts";
import { counted } from "../../format";
import { go, goWith, hrefOf } from "../../router";
import { readDocument, useDocument } from "../../use_document";
import { trialsPath, type Trials } from "./documents";

/** Open the conversations behind a point: two side by side, one by itself, and more of them as a list. */
export function openPoint(experiment: string, setting: string, inCase: string | null): void {
  const list = () => goWith({ setting, case: inCase }, false);
  readDocument<Trials>(trialsPath(experiment, setting, inCase)).then(({ trials }) => {
    const [first, second] = trials;
    if (first && second && trials.length === 2) go(hrefOf(["compare", first.run, second.run]));
    else if (first && trials.length === 1) go(hrefOf(["runs", first.run]));
    else list();
  }, list);
}

export function Conversations({ experiment, setting, inCase, version }: {
  experiment: string;
  setting: string;
  inCase: string | null;
  version: number;
}) {
  const trials = useDocument<Trials>(trialsPath(experiment, setting, inCase), version);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView({ block: "start" });
  }, [setting, inCase]);
  return (
    <section class="card stack behind" aria-label="Conversations behind a point">
      <div class="row">
        <h2 ref={heading} tabIndex={-1}><span class="data">{setting}</span>, <span class="data">{inCase ?? "all cases"}</span></h2>
        <button onClick={() => goWith({ setting: null, case: null }, false)}>Close</button>
      </div>
      <WithDocument of={trials}>{(found) => <List trials={found} />}</WithDocument>
    </section>
  );
}

function List({ trials: { trials, baseline, more, case: inCase } }: { trials: Trials }) {
  if (!trials.length) return <p class="muted">None of these conversations has begun.</p>;
  return (
    <>
      <ul class="trials">
        {trials.map((trial) => (
          <li key={trial.run}>
            <a class="code data" href={hrefOf(["runs", trial.run])}>{trial.run}</a>
            <span class="muted small">{inCase === null && <span class="data">{trial.case}, </span>}trial {trial.trial}</span>
            {trial.status !== "finished" && <Status status={trial.status} />}
            {trial.beside && (
              <a class="small" href={hrefOf(["compare", trial.beside, trial.run])}>
                beside <span class="data">{baseline}</span><span class="visually-hidden"> of trial {trial.trial}</span>
              </a>
            )}
            <span class="words data">{trial.first_line === null ? <i class="muted">nobody has spoken</i> : <><b>{trial.speaker}</b> {trial.first_line}</>}</span>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="small muted">And {counted(more, "further conversation")}: select a case to see its own.</p>}
    </>
  );
}

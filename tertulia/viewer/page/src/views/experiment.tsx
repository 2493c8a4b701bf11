/** An experiment as a place: what it compares, how far it is, its figures with the conversations behind them, its report. */

import { useEffect, useState } from "preact/hooks";
import { Command } from "../components/command";
import { Facts, Notice, WithDocument } from "../components/parts";
import { counted } from "../format";
import { hrefOf, usePlace } from "../router";
import { reportAddress } from "../server_request";
import { source } from "../source";
import "../styles/experiment.css";
import { useDocument } from "../use_document";
import { Conversations, openPoint } from "./experiment/conversations";
import { type Experiment, experimentPath, type Reported } from "./experiment/documents";
import { Measures } from "./experiment/measures";
import { axisName, valueWords } from "./experiment/points";
import { Report } from "./experiment/report";

/** An experiment that goes on is read anew so often at most, in milliseconds. */
const REFRESH_MS = 2000;

export function ExperimentView({ name }: { name: string }) {
  const version = useChanges();
  const experiment = useDocument<Experiment>(experimentPath(name), version);
  return (
    <main class="view experiment">
      <WithDocument of={experiment} heading="This experiment can't be shown">
        {(found) => <Shown experiment={found} version={version} />}
      </WithDocument>
    </main>
  );
}

/** Return a number that grows when runs of the store have changed. */
function useChanges(): number {
  const [version, setVersion] = useState(() => Date.now());
  useEffect(() => {
    let last: string | number | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = source.watch(null, ({ runs }) => {
      if (last !== null && last !== runs) timer ??= setTimeout(() => ((timer = undefined), setVersion(Date.now())), REFRESH_MS);
      last = runs;
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  return version;
}

function Shown({ experiment, version }: { experiment: Experiment; version: number }) {
  const { query } = usePlace();
  const { finished } = experiment.progress;
  const reported = useDocument<Reported>(experimentPath(experiment.experiment, "report"), finished + 1);
  const isThere = query.setting !== undefined && experiment.settings.some(({ setting }) => setting === query.setting);
  return (
    <>
      <Head experiment={experiment} hasReport={reported.state === "ready" && reported.value.has_html === true} />
      {experiment.notes.length > 0 && <Notice>{experiment.notes.map((note) => <p key={note}>{note}</p>)}</Notice>}
      {isThere && <Conversations experiment={experiment.experiment} setting={query.setting!} inCase={query.case ?? null} version={version} />}
      {finished > 0 && (
        <Measures
          experiment={experiment}
          reported={reported.state === "ready" ? reported.value : null}
          open={(setting, inCase) => openPoint(experiment.experiment, setting, inCase)}
        />
      )}
      {reported.state === "ready" && <Report experiment={experiment} reported={reported.value} />}
      <Design experiment={experiment} />
    </>
  );
}

function Head({ experiment, hasReport }: { experiment: Experiment; hasReport: boolean }) {
  const { cases, settings, trials, control, control_of } = experiment;
  return (
    <header class="stack">
      <div class="heading">
        <h1>Experiment <span class="data">{experiment.experiment}</span></h1>
        {experiment.rehearsed && <span class="tag">rehearsed: no model spoke</span>}
      </div>
      {experiment.description && <p class="about data">{experiment.description}</p>}
      <Facts
        of={[
          ["model", experiment.model],
          ["", `${counted(cases.length, "case")} × ${counted(settings.length, "setting")} × ${counted(trials, "trial")}`],
          ["compared with", experiment.baseline],
          ["plan", experiment.plan.digest ?? "none"],
          ...(hasReport ? [["report", <a href={reportAddress(experiment.experiment)} target="_blank" rel="noopener noreferrer">as it was exported</a>] as const] : []),
          ...(control ? [["control", <a href={hrefOf(["experiments", control])}>a stand-in without weights</a>] as const] : []),
          ...(control_of ? [["control of", <a href={hrefOf(["experiments", control_of])}>{control_of}</a>] as const] : []),
        ]}
      />
      <Progress experiment={experiment} />
    </header>
  );
}

function Progress({ experiment: { experiment, progress } }: { experiment: Experiment }) {
  const { planned, finished, failed, running, missing, utterances, utterances_expected, seconds_left, failures } = progress;
  const isWhole = finished === planned;
  const words = [
    ...(isWhole ? [] : [utterances_expected === null ? counted(utterances, "utterance") : `${utterances.toLocaleString("en")} of about ${counted(utterances_expected, "utterance")}`]),
    isWhole ? `All ${counted(planned, "conversation")} finished` : `${finished.toLocaleString("en")} of ${counted(planned, "conversation")} finished`,
    ...(running ? [`${running} running`] : []),
    ...(failed ? [`${failed} failed`] : []),
    ...(seconds_left !== null ? [`about ${timeWords(seconds_left)} left`] : []),
  ];
  return (
    <div class="stack progress">
      {!isWhole && <progress max={utterances_expected ?? planned} value={utterances_expected === null ? finished : utterances} aria-label="Utterances" />}
      <p class="small" role="status">{words.join(", ")}.</p>
      {!isWhole && !running && missing + failed > 0 && <p class="small muted">Nobody drives it now. To go on: <Command words={["lab", "resume", experiment]} /></p>}
      {failures.map(({ run, error }) => <p key={run} class="small"><a class="code" href={hrefOf(["runs", run])}>{run}</a> failed: <span class="data">{error}</span></p>)}
    </div>
  );
}

/** Return a time in words: `40 s`, `12 min`, `3 h 20 min`. */
function timeWords(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function Design({ experiment }: { experiment: Experiment }) {
  const { settings, common, cases, plan, rounds, seed } = experiment;
  const parameters = [...new Set(settings.flatMap((setting) => Object.keys(setting.parameters)))];
  return (
    <section class="stack">
      <h2>Design</h2>
      <div class="scroller" tabIndex={0} role="region" aria-label="Settings">
        <table>
          <thead><tr><th scope="col">setting</th>{parameters.map((name) => <th key={name} scope="col">{axisName(name)}</th>)}<th scope="col" class="number">finished</th><th scope="col" class="number">failed</th></tr></thead>
          <tbody>
            {settings.map((setting) => (
              <tr key={setting.setting}>
                <th scope="row" class="data">{setting.setting}</th>
                {parameters.map((name) => <td key={name} class="data">{name in setting.parameters ? valueWords(setting.parameters[name]) : "–"}</td>)}
                <td class="number">{setting.finished}</td>
                <td class="number">{setting.failed}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Facts of={[["rounds", rounds === null ? "as each case has them" : `at most ${rounds}`], ["first seed", seed], ...Object.entries(common).map(([name, value]) => [axisName(name), valueWords(value)] as const)]} />
      <details class="small"><summary>{counted(cases.length, "case")}</summary><ul class="data cases-list">{cases.map((name) => <li key={name}>{name}</li>)}</ul></details>
      {plan.departures.map((clause) => <p key={clause} class="small">Other than planned: {clause}.</p>)}
      {plan.text && <details class="small"><summary>The plan, as it was stored before the first conversation</summary><pre class="data">{plan.text}</pre></details>}
    </section>
  );
}

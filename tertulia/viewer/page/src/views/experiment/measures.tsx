/** The measures of an experiment: which are shown, along what, and the plot of each. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Command } from "../../components/command";
import { Term } from "../../components/explained";
import { WithDocument } from "../../components/parts";
import { counted } from "../../format";
import { idsOf, listOfIds } from "../../id_list";
import { goWith, usePlace } from "../../router";
import { useDocument } from "../../use_document";
import { type Experiment, experimentPath, type Measure, type Reported } from "./documents";
import { digitsOf, figure, MeasurePlot, type OpenMark } from "./measure_plot";
import { axisName, withReported } from "./points";

/** What is shown at first. */
const AT_FIRST = ["dist3", "sim", "removed_words", "entropy", "len", "without_sense"];
/** How long after new conversations figures are taken anew, in milliseconds: it may take the server seconds. */
const ANEW_MS = 6000;

export function Measures({ experiment, reported, open }: { experiment: Experiment; reported: Reported | null; open: OpenMark }) {
  const { query } = usePlace();
  const axis = query.axis === "settings" ? null : (experiment.axes.find(({ parameter }) => parameter === query.axis) ?? experiment.axes[0] ?? null);
  const shown = query.measures === undefined ? AT_FIRST : [...idsOf(query.measures)];
  const version = useSlowly(experiment.progress.finished);
  // What needs a model may not be measured yet: figures come first.
  const known = experiment.measures.filter(({ metric }) => shown.includes(metric)).sort((a, b) => Number(a.needs !== null) - Number(b.needs !== null));
  const beside = axis ? experiment.settings.filter(({ setting }) => axis.values[setting] === undefined).map(({ setting }) => setting) : [];
  return (
    <section class="stack" aria-label="Figures">
      <div class="row choices">
        <h2>Figures</h2>
        <Along experiment={experiment} shown={axis?.parameter ?? "settings"} />
        <Choice experiment={experiment} shown={shown} />
      </div>
      <p class="small muted">
        Large points are means over cases{experiment.cases.length > 1 && ", with 95 % intervals"}; small ones are cases. Select a point to see its conversations.
        {beside.length > 0 && ` Not on this axis: ${beside.join(", ")}; choose “setting by setting” to see them.`}
      </p>
      <div class="measures">
        {known.map(({ metric }) => (
          <One key={metric} experiment={experiment} metric={metric} axis={axis} reported={reported} version={version} open={open} />
        ))}
      </div>
      {known.length === 0 && <p class="muted">No measure is chosen.</p>}
    </section>
  );
}

/** Return a value that follows another one after a while. */
function useSlowly(value: number): number {
  const [held, hold] = useState(value);
  const latest = useRef(value);
  latest.current = value;
  const isBehind = held !== value;
  useEffect(() => {
    if (!isBehind) return;
    const timer = setTimeout(() => hold(latest.current), ANEW_MS);
    return () => clearTimeout(timer);
  }, [isBehind]);
  return held;
}

function Along({ experiment, shown }: { experiment: Experiment; shown: string }) {
  if (!experiment.axes.length) return null;
  return (
    <label class="row small">
      <span class="muted">along</span>
      <select value={shown} onChange={(event) => goWith({ axis: event.currentTarget.value })}>
        {experiment.axes.map(({ parameter }) => <option key={parameter} value={parameter}>{axisName(parameter)}</option>)}
        <option value="settings">setting by setting</option>
      </select>
    </label>
  );
}

function Choice({ experiment, shown }: { experiment: Experiment; shown: readonly string[] }) {
  const choose = (metric: string) => {
    const chosen = shown.includes(metric) ? shown.filter((other) => other !== metric) : [...shown, metric];
    goWith({ measures: listOfIds(chosen) ?? "none" });
  };
  return (
    <details class="choice">
      <summary>Measures</summary>
      <div class="list">
        {experiment.measures.map(({ metric, title, meaning, needs }) => (
          <label key={metric}>
            <input type="checkbox" checked={shown.includes(metric)} onChange={() => choose(metric)} />
            <span><b>{title}</b> <span class="muted">{meaning}{needs && "; needs a model"}</span></span>
          </label>
        ))}
      </div>
    </details>
  );
}

interface OneProps {
  readonly experiment: Experiment;
  readonly metric: string;
  readonly axis: Experiment["axes"][number] | null;
  readonly reported: Reported | null;
  readonly version: number;
  readonly open: OpenMark;
}

function One({ experiment, metric, axis, reported, version, open }: OneProps) {
  const [isAsked, ask] = useState(false);
  const path = `${experimentPath(experiment.experiment, "measures", metric)}${isAsked ? "?measure=1" : ""}`;
  const measure = useDocument<Measure>(path, version + 1);
  if (measure.state === "loading") {
    const { title } = experiment.measures.find((offered) => offered.metric === metric)!;
    const over = counted(experiment.progress.finished, "conversation");
    return <article class="card"><p class="muted" role="status">Measuring {over}: {title}…</p></article>;
  }
  return (
    <article class="card">
      <WithDocument of={measure}>
        {(found) => {
          const { measure: shown, isReported } = withReported(found, reported);
          if (shown.not_measured) return <NotMeasured measure={shown} ask={() => ask(true)} />;
          const note = `${isReported ? "; as the report has it, without cases" : `; ${counted(shown.conversations, "conversation")}`}${shown.unpaired ? `, without ${counted(shown.unpaired, "conversation")} that another setting lacks` : ""}`;
          return (
            <>
              <MeasurePlot name={experiment.experiment} measure={shown} axis={axis} note={note} open={open} />
              <Differences measure={shown} />
            </>
          );
        }}
      </WithDocument>
    </article>
  );
}

function NotMeasured({ measure, ask }: { measure: Measure; ask: () => void }) {
  return (
    <div class="stack small">
      <h3>{measure.title}</h3>
      <p>{measure.meaning}. It is not measured, {measure.not_measured}.</p>
      <p>
        {measure.can_measure && <><button class="plain" onClick={ask}>measure it</button>, or run </>}
        <Command words={measure.command} />
      </p>
    </div>
  );
}

/** Differences to the baseline, as numbers beside the marks. */
function Differences({ measure }: { measure: Measure }) {
  const rows = measure.settings.filter(({ value }) => value !== null);
  const hasControl = rows.some(({ control }) => control?.value !== null && control !== null);
  if (!rows.length) return null;
  const digits = digitsOf(measure);
  return (
    <div class="scroller differences" tabIndex={0} role="region" aria-label={`${measure.title} by setting`}>
      <table>
        <thead>
          <tr>
            <th scope="col">setting</th>
            <th scope="col" class="number">mean</th>
            <th scope="col" class="number"><Term of="95 % interval">95 %</Term></th>
            <th scope="col" class="number">minus {measure.baseline}</th>
            <th scope="col" class="number"><Term of="95 % interval">95 %</Term></th>
            {hasControl && <th scope="col" class="number"><Term of="control" /></th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.setting}>
              <th scope="row" class="data">{row.setting}</th>
              <td class="number">{figure(row.value, digits)}</td>
              <td class="number">{between(row.interval, digits)}</td>
              <td class="number">{row.difference ? signed(row.difference.value, digits) : "–"}</td>
              <td class="number">{between(row.difference?.interval ?? null, digits)}</td>
              {hasControl && <td class="number">{figure(row.control?.value, digits)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function between(interval: readonly [number, number] | null, digits: number): string {
  return interval ? `${figure(interval[0], digits)} to ${figure(interval[1], digits)}` : "–";
}

const signed = (value: number | null, digits: number) => (value === null ? "–" : `${value > 0 ? "+" : ""}${figure(value, digits)}`);

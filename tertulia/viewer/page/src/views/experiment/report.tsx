/** What the exported report of an experiment says: its verdicts, as they were reported. */

import { Command } from "../../components/command";
import { Term } from "../../components/explained";
import { Notice } from "../../components/parts";
import { reportAddress } from "../../server_request";
import type { Experiment, Mean, Reported } from "./documents";
import { figure } from "./measure_plot";

const KIND: Record<string, string> = { reproduced: "good", "not reproduced": "bad" };

export function Report({ experiment, reported }: { experiment: Experiment; reported: Reported }) {
  const { report, page, has_html, problem } = reported;
  if (problem && !report) return <Notice title="Its report can't be read" isBad><p class="data">{problem}</p></Notice>;
  if (!report) {
    return (
      <section class="stack">
        <h2>Report</h2>
        <p class="small muted">No report of it is in the folder of reports. One is made by <Command words={["lab", "compare", experiment.experiment]} /></p>
      </section>
    );
  }
  const orderings = report.orderings ?? [];
  const tally = Object.entries(report.tally ?? {}).filter(([, count]) => count > 0);
  const isOlder = report.finished !== null && report.finished < experiment.progress.finished;
  return (
    <section class="stack">
      <h2>Report</h2>
      <p class="small">
        {has_html
          ? <><a href={reportAddress(experiment.experiment)} target="_blank" rel="noopener noreferrer">The report as it was exported</a>, in a tab of its own (<code class="data">{page}</code>)</>
          : <>As it was exported to <code class="data">{page}</code></>}
        {tally.length > 0 && `: of ${orderings.length} orderings ${tally.map(([outcome, count]) => `${count} ${outcome.replaceAll("_", " ")}`).join(", ")}`}.
        {isOlder && ` It has ${report.finished} conversations; there are ${experiment.progress.finished} now.`}
      </p>
      {orderings.length > 0 && (
        <div class="scroller" tabIndex={0} role="region" aria-label="Verdicts">
          <table class="verdicts">
            <thead><tr><th scope="col">verdict</th><th scope="col"><Term of="ordering" /></th><th scope="col" class="number">here, <Term of="95 % interval">95 %</Term></th><th scope="col" class="number"><Term of="p">p, adjusted</Term></th><th scope="col" class="number"><Term of="control" /></th></tr></thead>
            <tbody>
              {orderings.map((ordering) => (
                <tr key={ordering.id}>
                  <td><span class={`tag ${KIND[ordering.verdict] ?? ""}`}>{ordering.verdict}</span></td>
                  <th scope="row" class="data">{ordering.text}{ordering.primary && <span class="muted"> (primary)</span>}{ordering.note && <span class="muted small"> {ordering.note}</span>}</th>
                  <td class="number">{meanWords(ordering.here)}</td>
                  <td class="number">{ordering.p_adjusted === null ? "–" : ordering.p_adjusted < 0.001 ? "< 0.001" : ordering.p_adjusted.toFixed(3)}</td>
                  <td class="number">{meanWords(ordering.control)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {(report.plan?.departures ?? []).map((clause) => <p key={clause} class="small">Other than planned: {clause}.</p>)}
    </section>
  );
}

function meanWords(mean: Mean | null): string {
  if (!mean || mean.value === null) return "–";
  return mean.interval ? `${figure(mean.value)} (${figure(mean.interval[0])} to ${figure(mean.interval[1])})` : figure(mean.value);
}

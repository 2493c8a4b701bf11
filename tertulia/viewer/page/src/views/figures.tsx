/** Figures of a run, and of others beside it: diversity, length, what was removed, participation. */

import { Command } from "../components/command";
import { Prose, Term } from "../components/explained";
import { useMemo, useState } from "preact/hooks";
import { Notice, WithDocument } from "../components/parts";
import type { Run, RunRow } from "../documents";
import { lambda, number } from "../format";
import { idsOf, listOfIds } from "../id_list";
import { type RunProgress, versionOf } from "../live";
import { goWith, hrefOf, usePlace } from "../router";
import { source } from "../source";
import "../styles/figures.css";
import { type Loaded, useDocument } from "../use_document";
import type { Figures } from "./figures_documents";
import { Lines, type Line, Points } from "./figures_plots";
import { ParticipationFigures } from "./participation";

const MOST_BESIDE = 6;
const DISTINCT = [["dist1", "dist-1"], ["dist2", "dist-2"], ["dist3", "dist-3"]] as const;

const pathOf = (run: string) => `runs/${encodeURIComponent(run)}/figures`;

export function FiguresView({ run, live }: { run: Run; live: RunProgress | null }) {
  const figures = useDocument<Figures>(pathOf(run.run), versionOf(run, live));
  const beside = idsOf(usePlace().query.with).filter((other) => other !== run.run).slice(0, MOST_BESIDE);
  const read = useEach(beside);
  const ready = read.flatMap((one) => (one.state === "ready" ? [one.value] : []));
  return (
    <div class="stack figures">
      {!source.isFile && <Beside run={run} beside={beside} />}
      {read.map((one, index) => one.state === "failed" && <Notice key={index} isBad><p class="data">{one.error}</p></Notice>)}
      <WithDocument of={figures}>{(own) => <Shown all={[own, ...ready]} />}</WithDocument>
    </div>
  );
}

/** Return the figures of other runs; always as many documents are asked for, as hooks want it. */
function useEach(runs: readonly string[]): Loaded<Figures>[] {
  const read = Array.from({ length: MOST_BESIDE }, (_, index) => useDocument<Figures>(runs[index] === undefined ? null : pathOf(runs[index])));
  return read.slice(0, runs.length);
}

/** The runs that are shown beside this one, and others that suit. */
function Beside({ run, beside }: { run: Run; beside: readonly string[] }) {
  const all = useDocument<{ runs: readonly RunRow[] }>("runs");
  const [typed, type] = useState("");
  const near = useMemo(() => (all.state === "ready" ? suiting(run, all.value.runs) : []), [all, run.run]);
  const show = (runs: readonly string[]) => goWith({ with: listOfIds(runs) });
  const add = (id: string) => id && id !== run.run && !beside.includes(id) && show([...beside, id].slice(-MOST_BESIDE));
  const left = near.filter(({ run }) => !beside.includes(run));
  return (
    <form
      class="row small"
      onSubmit={(event) => {
        event.preventDefault();
        add(typed.trim());
        type("");
      }}
    >
      <span class="muted">compare with</span>
      {beside.map((id) => (
        <button type="button" key={id} onClick={() => show(beside.filter((other) => other !== id))} aria-label={`Take ${id} away`}>
          <span class="code data">{id}</span> <span aria-hidden="true">×</span>
        </button>
      ))}
      {left.length > 0 && (
        <label class="row">
          <span class="visually-hidden">a fork or a run of the same scenario</span>
          <select value="" onChange={(event) => (add(event.currentTarget.value), (event.currentTarget.value = ""))}>
            <option value="">add a fork or a run of the same scenario…</option>
            {left.slice(0, 200).map((other) => <option key={other.run} value={other.run}>{describe(run, other)}</option>)}
          </select>
        </label>
      )}
      <label class="row"><span class="muted">or by its id</span><input value={typed} size={8} onInput={(event) => type(event.currentTarget.value)} /></label>
      <button type="submit" disabled={!typed.trim()}>Add</button>
    </form>
  );
}

/** Return runs that are worth comparing with: the parent, forks, siblings, and those of the same scenario. */
function suiting(run: Run, runs: readonly RunRow[]): RunRow[] {
  const isKin = (other: RunRow) =>
    other.parent?.run === run.run || other.run === run.parent?.run || (run.parent !== null && other.parent?.run === run.parent.run);
  const others = runs.filter((other) => other.run !== run.run && (isKin(other) || (other.scenario === run.scenario && other.simulation === run.simulation)));
  return [...others.filter(isKin), ...others.filter((other) => !isKin(other))];
}

function describe(run: Run, other: RunRow): string {
  const kin = other.parent?.run === run.run ? `fork at turn ${other.parent.turn}` : other.run === run.parent?.run ? "its parent" : "";
  return [other.run, kin, `λ ${lambda(other.removal_factor)}`, `seed ${other.seed}`, other.label].filter(Boolean).join(", ");
}

function Shown({ all }: { all: readonly Figures[] }) {
  const own = all[0]!;
  if (!own.utterances.turn.length) {
    return <Notice title="Nothing to measure yet"><p>Nobody has spoken in this run; figures are shown from the first utterance on.</p></Notice>;
  }
  return (
    <>
      <Totals all={all} />
      <h2>Over the turns</h2>
      <div class="plots">
        <Diversity all={all} />
        <Length all={all} />
        <Removal all={all} />
        <Rollbacks all={all} />
      </div>
      {!isScored(own) && (
        <p class="small muted">
          {own.run} was not scored: with λ = 0 nothing is removed, and scores are recorded only with <code>--set record_scores=true</code>.
        </p>
      )}
      {own.participation
        ? <ParticipationFigures run={own.run} kind={own.kind} people={own.people} participation={own.participation} />
        : <p>Who talked with whom, and who saw which picture: <a href={hrefOf(["runs", own.run, "album"])}>the album</a>.</p>}
    </>
  );
}

function Totals({ all }: { all: readonly Figures[] }) {
  return (
    <section class="stack">
      <h2>Diversity and length</h2>
      <div class="scroller" tabIndex={0} role="region" aria-label="Diversity and length">
        <table>
          <thead>
            <tr>
              <th scope="col">run</th><th scope="col" class="number">λ</th><th scope="col" class="number">seed</th><th scope="col" class="number">utterances</th>
              {DISTINCT.map(([, label]) => <th key={label} scope="col" class="number">{label}</th>)}
              <th scope="col" class="number">words per utterance</th><th scope="col">label</th>
            </tr>
          </thead>
          <tbody>
            {all.map((figures) => (
              <tr key={figures.run}>
                <th scope="row"><a class="code data" href={hrefOf(["runs", figures.run, "figures"])}>{figures.run}</a></th>
                <td class="number">{lambda(figures.removal_factor)}</td>
                <td class="number">{figures.seed}</td>
                <td class="number">{figures.utterances.turn.length.toLocaleString("en")}</td>
                {DISTINCT.map(([name]) => <td key={name} class="number">{number(figures[name], 3)}</td>)}
                <td class="number">{number(figures.len, 1)}</td>
                <td class="data">{figures.label ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="small muted">
        <Prose text="dist-n: distinct n-grams of words over all; none crosses the end of an utterance. It falls as a conversation grows, so compare runs of equal length." />{" "}
        {all.length > 1 ? <Similarity runs={all.map(({ run }) => run)} /> : <>Similarity (sim) is measured between two runs or more: compare with another one.</>}
      </p>
    </section>
  );
}

interface Measured {
  readonly embedder: string;
  readonly sim: number;
  readonly sim_untruncated: number;
}

/** How similar the dialogues of the runs are, once a reader asks: the first time, the server loads the embedder. */
function Similarity({ runs }: { runs: readonly string[] }) {
  const isAsked = usePlace().query.sim === "1" && !source.isFile;
  const measured = useDocument<Measured>(isAsked ? `similarity?runs=${runs.map(encodeURIComponent).join(",")}` : null);
  if (source.isFile) return <>Their similarity (sim) is measured by <Command words={["metrics", ...runs]} /></>;
  if (!isAsked) return <>Their similarity (sim): <button class="plain" onClick={() => goWith({ sim: 1 })}>measure it</button></>;
  if (measured.state === "loading") return <span role="status">Their similarity (sim) is being measured; the first time, the embedder is loaded…</span>;
  if (measured.state === "failed") return <span role="alert" class="data">{measured.error}</span>;
  const { sim, sim_untruncated, embedder } = measured.value;
  return (
    <span role="status">
      Their similarity: <b class="number">sim {number(sim, 3)}</b> (the mean <Term of="cosine" /> over all pairs, by <span class="data">{embedder}</span>;{" "}
      {number(sim_untruncated, 3)} where no text is truncated).
    </span>
  );
}

const isScored = ({ making }: Figures) => making.removable.some((count) => count !== null);
const nameOf = ({ run, label, removal_factor }: Figures) => `${run}, λ ${lambda(removal_factor)}${label ? `, ${label}` : ""}`;

/** Return the figures of all runs as rows: the run, and an entry of each column. */
function rowsOf(all: readonly Figures[], columns: (figures: Figures) => readonly (readonly (string | number | null)[])[]) {
  return all.flatMap((figures) => {
    const given = columns(figures);
    return (given[0] ?? []).map((_, index) => [figures.run, ...given.map((column) => column[index] ?? null)]);
  });
}

function Diversity({ all }: { all: readonly Figures[] }) {
  const { query } = usePlace();
  const chosen = DISTINCT.find(([name]) => name === query.figure) ?? DISTINCT[1];
  const of = (figures: Figures, name: (typeof DISTINCT)[number][0]) =>
    figures.utterances.turn.map((turn, index) => [turn, figures.utterances[name][index] ?? null] as const);
  const lines: Line[] = all.length === 1
    ? DISTINCT.map(([name, label]) => ({ label, points: of(all[0]!, name) }))
    : all.map((figures) => ({ label: nameOf(figures), points: of(figures, chosen[0]) }));
  const rows = useMemo(
    () => rowsOf(all, ({ utterances: { turn, speaker, dist1, dist2, dist3 } }) => [turn, speaker, dist1, dist2, dist3]),
    [all.map(({ run }) => run).join(), all[0]!.utterances],
  );
  return (
    <div class="stack">
      <Lines
        title={all.length === 1 ? "Diversity so far" : `${chosen[1]} so far`}
        name={`${all.map(({ run }) => run).join("-")}-diversity`}
        note="distinct n-grams over all n-grams, in the utterances up to each turn"
        columns={["run", "turn", "speaker", "dist1", "dist2", "dist3"]}
        rows={rows}
        lines={lines}
        most={1}
      />
      {all.length > 1 && (
        <label class="row small">
          <span class="muted">figure</span>
          <select value={chosen[0]} onChange={(event) => goWith({ figure: event.currentTarget.value })}>
            {DISTINCT.map(([name, label]) => <option key={name} value={name}>{label}</option>)}
          </select>
        </label>
      )}
    </div>
  );
}

function Length({ all }: { all: readonly Figures[] }) {
  const own = all[0]!;
  const means = all.map((figures) => ({
    label: all.length === 1 ? `mean of the last ${own.window}` : nameOf(figures),
    points: figures.utterances.turn.map((turn, index) => [turn, figures.utterances.mean_words[index] ?? null] as const),
  }));
  return (
    <Lines
      title="Words per utterance"
      name={`${all.map(({ run }) => run).join("-")}-length`}
      note={`the mean of each utterance and up to ${own.window - 1} before it${all.length === 1 ? "; the dots are the utterances" : ""}`}
      columns={["run", "turn", "speaker", "words", "mean_words"]}
      rows={rowsOf(all, ({ utterances: { turn, speaker, words, mean_words } }) => [turn, speaker, words, mean_words])}
      lines={means}
      dots={all.length === 1 ? own.utterances.turn.map((turn, index) => [turn, own.utterances.words[index]!] as const) : []}
      most={null}
    />
  );
}

function Removal({ all }: { all: readonly Figures[] }) {
  const scored = all.filter(isScored);
  if (!scored.length) return null;
  const share = ({ making: { removed, removable } }: Figures) => removed.map((count, index) => (count !== null && removable[index] ? count / removable[index]! : null));
  return (
    <Points
      title="Removed from each prompt"
      name={`${scored.map(({ run }) => run).join("-")}-removed`}
      note={`removed items over removable items${scored.some(({ kind }) => kind === "album_chat") ? "; in an album chat, of the question’s prompt" : ""}`}
      columns={["run", "turn", "removed", "removable", "share"]}
      rows={rowsOf(scored, (figures) => [figures.making.turn, figures.making.removed, figures.making.removable, share(figures)])}
      lines={scored.map((figures) => ({ label: nameOf(figures), points: share(figures).map((value, index) => [figures.making.turn[index]!, value] as const) }))}
      most={1}
    />
  );
}

function Rollbacks({ all }: { all: readonly Figures[] }) {
  const judged = all.filter(isScored);
  if (!judged.length) return null;
  const none = judged.every(({ making }) => making.rollbacks.every((count) => count === 0));
  if (none) return <p class="small muted"><Prose text="No utterance was rolled back." /></p>;
  return (
    <Points
      title="Rollbacks at each turn"
      name={`${judged.map(({ run }) => run).join("-")}-rollbacks`}
      note="how often the judge rolled a candidate back before the utterance was said"
      columns={["run", "turn", "rollbacks"]}
      rows={rowsOf(judged, ({ making }) => [making.turn, making.rollbacks])}
      lines={judged.map((figures) => ({ label: nameOf(figures), points: figures.making.rollbacks.map((count, index) => [figures.making.turn[index]!, count] as const) }))}
      most={null}
      isWhole
    />
  );
}

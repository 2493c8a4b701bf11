/** A run: what it is, and the views of it. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Facts, Notice, Status, Tabs, WithDocument } from "../components/parts";
import { useIsNarrow } from "../components/width";
import { useLive, useRun } from "../live";
import { isolated, lambda, listed } from "../format";
import { hrefOf } from "../router";
import { source } from "../source";
import "../styles/run.css";
import { ResumePanel } from "./actions";
import { AlbumView } from "./album";
import { ConversationView } from "./conversation";
import type { RunInFull } from "./conversation/documents";
import { FiguresView } from "./figures";
import { MindsView } from "./minds";
import { SeatsPanel } from "./seats_panel";

/** People that are named in the heading. */
const NAMED = 6;

export function RunView({ id, part }: { id: string; part: string }) {
  const [run, renew] = useRun(id);
  return (
    <main class="view run-view">
      <WithDocument of={run} heading="This run can't be shown">{(run) => <Parts run={run} part={part} renew={renew} />}</WithDocument>
    </main>
  );
}

function Parts({ run, part, renew }: { run: RunInFull; part: string; renew: () => void }) {
  const live = useLive(run.run);
  const status = live?.status ?? run.status;
  useEffect(() => {
    if (live && (live.status !== run.status || (run.first_line === null && live.turns > run.turns))) renew();
  }, [live?.status, live?.turns, run]);
  const at = (name: string) => hrefOf(["runs", run.run, ...(name ? [name] : [])]);
  const links: [string, string][] = [["Conversation", at("")]];
  if (run.kind === "group_chat") links.push(["Minds", at("minds")]);
  if (run.kind === "album_chat") links.push(["Album", at("album")]);
  links.push(["Figures", at("figures")]);
  const shown = { "": "Conversation", minds: "Minds", album: "Album", figures: "Figures" }[part];
  return (
    <>
      <div class="run-top">
        <Heading run={run} status={status} />
        <Tabs label="Views of this run" links={links} shown={shown ?? ""} />
        <SeatsPanel run={run} />
        {status !== "finished" && !source.isFile && (status !== "running" || live?.driven === false) && (
          <details class="resume">
            <summary class="button">Resume</summary>
            <div class="card"><ResumePanel run={run} /></div>
          </details>
        )}
      </div>
      {run.error && <Notice isBad><p class="data">{run.error}</p></Notice>}
      {part === "" && <ConversationView run={run} live={live} />}
      {part === "minds" && <MindsView run={run} live={live} />}
      {part === "album" && <AlbumView run={run} live={live} />}
      {part === "figures" && <FiguresView run={run} live={live} />}
      {shown === undefined && <Notice title="There is no such view"><a href={at("")}>Show the conversation</a></Notice>}
    </>
  );
}

type Fact = readonly [string, ComponentChildren];

function Heading({ run, status }: { run: RunInFull; status: string }) {
  const isNarrow = useIsNarrow();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true }); // its link is gone, or the form's button
  }, [run.run]);
  const facts: Fact[] = [["scenario", run.title ?? run.scenario], ["λ", lambda(run.parameters.removal_factor)]];
  if (run.parent) {
    facts.push(["forked from", <a href={hrefOf(["compare", run.parent.run, run.run])}>{run.parent.run} at turn {run.parent.turn}</a>]);
  }
  if (run.forks.length) facts.push(["forks", <Forks run={run} />]);
  if (run.simulation) facts.push(["town", <a href={hrefOf(["towns", run.simulation])}>{run.simulation}</a>]);
  const made: Fact[] = [["model", run.model], ["seed", run.seed], ["date", run.date]];
  for (const [model, names] of Object.entries(run.unsent ?? {})) made.push(["unknown", `${names.join(", ")}: ${model} was not sent them`]);
  return (
    <div class="heading run-heading">
      <h1 ref={heading} tabIndex={-1}>
        <bdi class="data" title={run.people.join(", ")}><People run={run} /></bdi> <span class="code run-id">{run.run}</span>
      </h1>
      {run.label && <span class="tag data run-label">{run.label}</span>}
      <Status status={status} endedBy={status === run.status ? run.ended_by : null} />
      {run.rehearsed && <span class="tag" title="A stand-in spoke, not a language model.">{run.parent && run.model !== "rehearsal" ? "rehearsed in part" : "rehearsed"}</span>}
      <span class="new-line" />
      {run.first_line && <p class="words first-line data" title={run.first_line}><span class="visually-hidden">First line: </span>{run.first_line}</p>}
      {isNarrow ? <Brief run={run} /> : <Facts of={facts} />}
      <details class="about">
        <summary>{isNarrow ? "About" : "Made with"}</summary>
        <Facts of={isNarrow ? [...(run.label ? [["label", run.label] as Fact] : []), ["people", <People run={run} />], ...facts, ...made] : made} />
      </details>
    </div>
  );
}

/** What a run is, in a line where there is room for no more. */
function Brief({ run }: { run: RunInFull }) {
  return (
    <p class="brief small">
      <span class="muted">λ</span> {lambda(run.parameters.removal_factor)} ·{" "}
      {run.parent && <><a href={hrefOf(["compare", run.parent.run, run.run])}>fork of {run.parent.run}</a> · </>}
      <bdi>{run.title ?? run.scenario}</bdi>
    </p>
  );
}

function People({ run }: { run: RunInFull }) {
  const others = run.people.length - NAMED;
  const named = run.people.slice(0, NAMED);
  return <>{others > 0 ? `${named.map(isolated).join(", ")} and ${others} more` : listed(named)}</>;
}

function Forks({ run }: { run: RunInFull }) {
  return (
    <>
      {run.forks.map((fork, index) => (
        <span key={fork.run}>
          {index ? ", " : ""}
          <a href={hrefOf(["compare", run.run, fork.run])}>{fork.run}</a> at turn {fork.turn}
          {fork.label ? <> (<bdi>{fork.label}</bdi>)</> : ""}
        </span>
      ))}
      {run.more_forks > 0 && <>, <a href={hrefOf(["runs"])}>{run.more_forks} more</a></>}
    </>
  );
}

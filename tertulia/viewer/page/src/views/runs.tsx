/** All runs of the store: the tree of forks, to be filtered, sorted, opened and compared. */

import { Component } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Notice, Status, WithDocument } from "../components/parts";
import { PictureStrip } from "../components/picture_strip";
import { counted, inWords, lambda } from "../format";
import { Lists } from "./experiments";
import { idsOf, listOfIds } from "../id_list";
import { go, goWith, hrefOf, usePlace } from "../router";
import { source } from "../source";
import "../styles/runs.css";
import { type Loaded, useDocument } from "../use_document";
import { useDropElsewhere } from "./people";
import { depths, type ListedRun, type ListedSimulation, matches, type Node, type Row, rowsOf, runsUnder, type Sort, treeOf, turnsOf } from "./run_tree";

interface Runs {
  readonly runs: readonly ListedRun[];
  /** The runs of the store; the first answer has only the newest of them. */
  readonly total: number;
  readonly simulations: readonly ListedSimulation[];
}

/** Runs that are read first, and drawn at once, while the others are read. */
const READ_FIRST = 100;
/** Rows that are drawn at first, more than any screen shows, and that are added at a time. */
const [FIRST, PAGE] = [40, 150];
/** A store in which much happens is read anew so often at most, in milliseconds. */
const REFRESH_MS = 1500;
const SORTS: readonly (readonly [Sort, string])[] = [["date", "date"], ["turns", "turns"], ["lambda", "λ"], ["scenario", "scenario"]];

/** Where the reader was in the list, for when they come back. */
let left = { address: "", shown: FIRST, scrolled: 0 };
/** The store as it was when the list was last read. */
let seen: string | number | null = null;

export function RunsView() {
  const runs = useRuns();
  const { mayStart, isOver, problem } = useDropElsewhere();
  return (
    <main class={`view ${isOver ? "dropping" : ""}`}>
      <div class="heading">
        <h1>Runs</h1>
        {!source.isFile && <Lists shown="Runs" />}
        {mayStart && <a class="button primary" href={hrefOf(["new"])}>New conversation</a>}
      </div>
      {!source.isFile && <div role="alert" class="people-problems">{problem && <p class="notice bad small">{problem}</p>}</div>}
      <WithDocument of={runs}>{(document) => (document.runs.length ? <Tree {...document} /> : <Empty mayStart={mayStart} />)}</WithDocument>
    </main>
  );
}

/** Whether all runs were read once: whoever comes back has them at once. */
let areAllRead = false;
/** What of an address needs all runs at once. */
const NEEDS_ALL = ["find", "status", "scenario", "sort", "order", "toggled"];

/** Return all runs; until they are there only the newest of them, where that is what the reader looks at first. */
function useRuns(): Loaded<Runs> {
  const { query } = usePlace();
  const [isQuick] = useState(!source.isFile && !areAllRead && !NEEDS_ALL.some((name) => query[name]));
  const version = useChanges();
  const first = useDocument<Runs>(isQuick ? `runs?first=${READ_FIRST}` : null);
  const all = useDocument<Runs>(isQuick && first.state === "loading" ? null : "runs", version);
  if (all.state === "ready") areAllRead = true;
  return all.state === "loading" && first.state === "ready" ? first : all;
}

/** Return a number that grows when runs of the store have changed. */
function useChanges(): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = source.watch(null, ({ runs }) => {
      const isNews = seen !== null && seen !== runs;
      seen = runs;
      if (isNews && timer === undefined) {
        timer = setTimeout(() => {
          timer = undefined;
          setVersion(Date.now());
        }, version ? REFRESH_MS : 100);
      }
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  return version;
}

function Empty({ mayStart }: { mayStart: boolean }) {
  return (
    <Notice title="There are no runs yet">
      {mayStart
        ? <p><a href={hrefOf(["new"])}>Begin a conversation</a> of your own people or of shipped ones, or drop files of characters here.</p>
        : <p>To begin one on this page, start it with: <code>tertulia view --allow-runs</code></p>}
      <p>At a terminal, a rehearsal needs no model and takes a few seconds: <code>tertulia run tidewell --rehearse</code></p>
      <p>It appears here while it goes on.</p>
    </Notice>
  );
}

/** Return ids with one of them taken away, or added at the end. */
const switched = (ids: readonly string[], id: string) => (ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id]);

function Tree({ runs, total, simulations }: Runs) {
  const { path, query } = usePlace();
  const sort = SORTS.find(([name]) => name === query.sort)?.[0] ?? "date";
  const isDown = (query.order ?? (sort === "scenario" ? "up" : "down")) !== "up";
  const chosen = idsOf(query.chosen);
  const filter = { text: query.find ?? "", status: query.status ?? "", scenario: query.scenario ?? "" };
  const roots = useMemo(() => treeOf(runs, simulations), [runs, simulations]);
  const rows = useMemo(
    () => rowsOf(roots, sort, isDown, new Set(idsOf(query.toggled)), filter),
    [roots, sort, isDown, query.toggled, filter.text, filter.status, filter.scenario],
  );
  const levels = useMemo(() => depths(rows, roots), [rows, roots]);
  const isFiltered = Boolean(filter.text || filter.status || filter.scenario);
  const found = useMemo(
    () => (isFiltered ? runs.filter((run) => matches(run, filter)).length : runs.length),
    [runs, filter.text, filter.status, filter.scenario],
  );
  const [shown, more] = useShown(rows.length, hrefOf(path, query));
  const held = useRef(query); // rows are not drawn anew for what is chosen elsewhere
  held.current = query;
  const toggle = (id: string) => goWith({ toggled: listOfIds(switched(idsOf(held.current.toggled), id)) });
  const choose = (id: string) => goWith({ chosen: listOfIds(switched(idsOf(held.current.chosen), id).slice(-2)) });
  return (
    <>
      <Filters runs={runs} total={total} found={found} sort={sort} isDown={isDown} filter={filter} />
      {rows.length === 0 && (
        <Notice title="No run matches">
          <p><button onClick={() => goWith({ find: null, status: null, scenario: null })}>Show all runs</button></p>
        </Notice>
      )}
      {rows.length > 0 && (
        <div class="runs" role="table" aria-label="Runs" aria-rowcount={rows.length + 1}>
          <div class="run head" role="row">
            <span role="columnheader"><span class="visually-hidden">choose</span></span>
            {["run", "conversation", "λ", "turns", "status", "scenario", "model", "date", "forked from"].map((name) => (
              <span key={name} role="columnheader" class={["λ", "turns"].includes(name) ? "number" : ""}>{name}</span>
            ))}
          </div>
          {rows.slice(0, shown).map((row) => (
            <TreeRow
              key={row.node.id}
              row={row}
              depth={levels.get(row.node) ?? 0}
              isChosen={chosen.includes(row.node.run.run)}
              choose={choose}
              toggle={toggle}
            />
          ))}
        </div>
      )}
      {shown < rows.length && <More left={rows.length - shown} more={more} />}
      <Chosen chosen={chosen} />
    </>
  );
}

/** Return how many rows are shown, and what shows more of them; whoever comes back finds their place. */
function useShown(count: number, address: string): [number, () => void] {
  const isBack = left.address === address;
  const [shown, setShown] = useState(isBack ? left.shown : FIRST);
  const held = useRef({ shown, address });
  held.current = { shown, address };
  useEffect(() => {
    if (isBack) scrollTo(0, left.scrolled);
    let scrolled = isBack ? left.scrolled : 0;
    // By the time this view goes, the page is no longer scrolled to where it was.
    const note = () => (scrolled = scrollY);
    addEventListener("scroll", note, { passive: true });
    return () => {
      removeEventListener("scroll", note);
      left = { ...held.current, scrolled };
    };
  }, []);
  return [Math.min(shown, count), () => setShown((now) => now + PAGE)];
}

function Filters({ runs, total, found, sort, isDown, filter }: {
  runs: readonly ListedRun[];
  total: number;
  found: number;
  sort: Sort;
  isDown: boolean;
  filter: { readonly text: string; readonly status: string; readonly scenario: string };
}) {
  const statuses = useMemo(() => [...new Set(runs.map((run) => run.status))].sort(), [runs]);
  const scenarios = useMemo(() => [...new Set(runs.map((run) => run.name))].sort(), [runs]);
  const changed = (event: { readonly currentTarget: { readonly value: string } }) => event.currentTarget.value || null;
  return (
    <form class="row filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>find <input type="search" value={filter.text} placeholder="id, label, model…" onInput={(event) => goWith({ find: changed(event) })} /></label>
      <label>status <Select label="status" all={statuses} value={filter.status} choose={(status) => goWith({ status })} /></label>
      <label>scenario <Select label="scenario" all={scenarios} value={filter.scenario} choose={(scenario) => goWith({ scenario })} /></label>
      <label>
        sort by{" "}
        <select aria-label="sort by" value={sort} onChange={(event) => goWith({ sort: event.currentTarget.value === "date" ? null : event.currentTarget.value, order: null })}>
          {SORTS.map(([name, label]) => <option key={name} value={name}>{label}</option>)}
        </select>
      </label>
      <button type="button" onClick={() => goWith({ order: isDown ? "up" : "down" })}>
        {orderWords(sort, isDown)}
      </button>
      <span class="muted small" role="status">
        {found === runs.length ? counted(total, "run") : `${found.toLocaleString("en")} of ${counted(total, "run")}`}
        {sort !== "date" && "; forks stay below their parents"}
      </span>
    </form>
  );
}

function orderWords(sort: Sort, isDown: boolean): string {
  if (sort === "date") return isDown ? "↓ newest first" : "↑ oldest first";
  if (sort === "scenario") return isDown ? "↓ Z to A" : "↑ A to Z";
  return isDown ? "↓ most first" : "↑ least first";
}

function Select({ label, all, value, choose }: { label: string; all: readonly string[]; value: string; choose: (value: string | null) => void }) {
  const options = value && !all.includes(value) ? [value, ...all] : all;
  return (
    <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value || null)}>
      <option value="">all</option>
      {options.map((name) => <option key={name} value={name}>{name}</option>)}
    </select>
  );
}

interface RowProps {
  readonly row: Row;
  readonly depth: number;
  readonly isChosen: boolean;
  readonly choose: (id: string) => void;
  readonly toggle: (id: string) => void;
}

/** A row; with thousands of them, only those are drawn anew that changed. */
class TreeRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { row, depth, isChosen } = this.props;
    return next.row !== row || next.depth !== depth || next.isChosen !== isChosen;
  }

  override render() {
    const { row, depth, isChosen, choose, toggle } = this.props;
    const { node, isOpen } = row;
    const { run } = node;
    const isRun = node.kind === "run";
    return (
      <div class={`run ${node.kind} ${isChosen && isRun ? "chosen" : ""}`} role="row" data-run={isRun ? run.run : undefined}>
        <span role="cell" class="choose">
          {isRun && <input type="checkbox" aria-label={`Choose ${run.run} to compare`} checked={isChosen} onChange={() => choose(run.run)} />}
        </span>
        <span role="cell" class="tree">
          {row.rails.map((goesOn, index) => <span key={index} class={goesOn ? "rail on" : "rail"} aria-hidden="true" />)}
          {depth > 0 && <span class={row.isLast ? "rail last" : "rail fork"} aria-hidden="true" />}
          <span class="name">
            <Name node={node} />
            {node.children.length > 0 && <Fold node={node} isOpen={isOpen} toggle={toggle} />}
          </span>
        </span>
        <Cells node={node} />
      </div>
    );
  }
}

function Name({ node }: { node: Node }) {
  if (node.kind === "run") return <a class="code data row-link" href={hrefOf(["runs", node.run.run])} title={toldOf(node.run)}>{node.name}</a>;
  if (node.kind === "simulation") return <span><a class="code data row-link" href={hrefOf(["towns", node.name])}>{node.name}</a> <span class="muted">town</span></span>;
  const isExperiment = node.kind === "experiment";
  return (
    <span class="data">
      <span class="muted">{node.kind}</span> {isExperiment ? <a class="row-link" href={hrefOf(["experiments", node.name])}>{short(node.name)}</a> : short(node.name)}
    </span>
  );
}

const UNDER: Record<Node["kind"], string> = { run: "fork", simulation: "conversation", experiment: "run", setting: "run" };

function Fold({ node, isOpen, toggle }: { node: Node; isOpen: boolean; toggle: (id: string) => void }) {
  const count = node.kind === "run" || node.kind === "simulation" ? node.children.length : runsUnder(node);
  const what = counted(count, UNDER[node.kind]);
  return (
    <button class="fold" aria-expanded={isOpen} aria-label={`${what} of ${node.name}`} onClick={() => toggle(node.id)}>
      <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {what}
    </button>
  );
}

/** Columns whose values need no name where rows are cards. */
const SPEAKS_FOR_ITSELF = new Set(["conversation", "status", "scenario", "model", "date"]);

/** A value, with the name of its column where rows are cards. */
function Cell({ name, children, kind = "" }: { name: string; children?: preact.ComponentChildren; kind?: string }) {
  const isEmpty = children === null || children === undefined || children === "";
  return (
    <span role="cell" class={`${kind} ${isEmpty ? "none" : ""}`}>
      {!SPEAKS_FOR_ITSELF.has(name) && <span class="column" aria-hidden="true">{name} </span>}
      {isEmpty ? <span class="dash" aria-hidden="true">–</span> : children}
    </span>
  );
}

/** A text of a cell, of a long one the beginning; the run's own page has the whole. */
const short = (text: string) => (text.length > 120 ? `${text.slice(0, 119)}…` : text);

function Cells({ node }: { node: Node }) {
  const { run, simulation, kind } = node;
  const isGroup = kind === "experiment" || kind === "setting";
  return (
    <>
      <Cell name="conversation" kind="told">{kind === "run" ? <Told run={run} /> : simulation ? counted(simulation.days, "day") : ""}</Cell>
      <Cell name="λ" kind="number">{kind === "experiment" || run.removal_factor === null ? "" : lambda(run.removal_factor)}</Cell>
      <Cell name="turns" kind="number">{turnsOf(node).toLocaleString("en")}</Cell>
      <Cell name="status" kind="status">{!isGroup && <Status status={(simulation ?? run).status} endedBy={(simulation ?? run).ended_by} />}</Cell>
      <Cell name="scenario" kind="data">
        {isGroup ? "" : short(run.name)}
        {run.rehearsed && !isGroup && run.model !== "rehearsal" && <> <span class="tag">rehearsed</span></>}
        {!isGroup && run.order && <span class="muted"> {inWords(run.order)}</span>}
      </Cell>
      <Cell name="model" kind="data">
        {short(run.model)}
        {!isGroup && <span class="muted seed"> seed {simulation?.seed ?? run.seed}</span>}
      </Cell>
      <Cell name="date" kind="date">{run.date}</Cell>
      <Cell name="forked from">
        {run.parent && kind === "run" ? (
          <a href={hrefOf(["compare", run.parent.run, run.run])}>
            <span class="visually-hidden">Compare with </span>
            <span class="code data">{run.parent.run}</span> turn {run.parent.turn}
          </a>
        ) : ""}
      </Cell>
    </>
  );
}

/** Most people of a run that are named. */
const NAMED = 4;

/** Return all that a row may have cut: who is in a run, and how it begins. */
const toldOf = ({ people, first_line }: ListedRun) => [people?.join(", "), first_line].filter(Boolean).join("\n");

/** Who is in a run, and how it begins. */
function Told({ run }: { run: ListedRun }) {
  const people = run.people ?? [];
  const named = people.slice(0, NAMED).join(", ") + (people.length > NAMED ? ` and ${people.length - NAMED} more` : "");
  return (
    <>
      <span class="who">
        <span class="people data">{named}</span>
        {run.label && <span class="tag data">{short(run.label)}</span>}
      </span>
      {run.kind === "album_chat" && !source.isFile && <PictureStrip run={run.run} />}
      {run.first_line && <span class="first data">{run.first_line}</span>}
    </>
  );
}

/** The end of the list: more rows as soon as it is scrolled to, or by a button. */
function More({ left, more }: { left: number; more: () => void }) {
  const end = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && more(), { rootMargin: "600px" });
    observer.observe(end.current!);
    return () => observer.disconnect();
  }, [left]);
  return <p ref={end}><button onClick={more}>Show more ({counted(left, "row")})</button></p>;
}

/** The runs that are chosen, and what can be done with two of them. */
function Chosen({ chosen }: { chosen: readonly string[] }) {
  if (chosen.length === 0) return null;
  const [a, b] = chosen as [string, string?];
  return (
    <div class="chosen-runs row" role="region" aria-label="Chosen runs">
      <span role="status">
        <span class="code data">{a}</span>
        {b ? <> and <span class="code data">{b}</span></> : " is chosen; choose another run to compare it with"}
      </span>
      {b && <button class="primary" onClick={() => go(hrefOf(["compare", a, b]))}>Compare</button>}
      <button onClick={() => goWith({ chosen: null })}>Clear</button>
    </div>
  );
}

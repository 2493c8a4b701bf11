/** Days of a town: who met whom, how varied the days are, and what its people remember. */

import { Command } from "../components/command";
import { scaleLinear, scalePoint } from "d3-scale";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Facts, Notice, Status, WithDocument } from "../components/parts";
import { BottomAxis, LeftAxis, Legend, Plot, Series } from "../components/plot";
import { useIsNarrow } from "../components/width";
import { counted, lambda } from "../format";
import { goWith, usePlace } from "../router";
import { source } from "../source";
import "../styles/town.css";
import { useDocument } from "../use_document";
import { Agreements } from "./agreements";
import { LongText } from "./compare_turn";
import { linksOf, type Link } from "./meetings";
import { WhereTheyAre } from "./town_day";
import { Encounters } from "./town_encounters";
import { Graph, MOST_IN_GRAPH, MOST_IN_MATRIX, Matrix } from "./town_graph";
import type { Day, Encounter, Memory, Person, Town } from "./town_documents";

export function TownView({ simulation }: { simulation: string }) {
  const version = useChanges();
  const town = useDocument<Town>(`towns/${encodeURIComponent(simulation)}`, version);
  return <main class="view"><WithDocument of={town} heading="This town can't be shown">{(town) => <Shown town={town} version={version} />}</WithDocument></main>;
}

/** Return a number that grows when runs of the store have changed, at most every two seconds. */
function useChanges(): number {
  const [version, setVersion] = useState(() => Date.now()); // days may have passed since it was read last
  useEffect(() => {
    let last: string | number | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = source.watch(null, ({ runs }) => {
      if (last !== null && last !== runs) timer ??= setTimeout(() => ((timer = undefined), setVersion(Date.now())), 2000);
      last = runs;
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  return version;
}

function Shown({ town, version }: { town: Town; version: number }) {
  const { query } = usePlace();
  const isNarrow = useIsNarrow(); // then encounters stand in the list by hour
  const days = useMemo(() => [...new Set(town.encounters.map(({ day }) => day))], [town]);
  const day = query.day === "all" ? null : days.includes(Number(query.day)) ? Number(query.day) : (days[0] ?? null);
  const chosen = day === null ? town.encounters : town.encounters.filter((encounter) => encounter.day === day);
  return (
    <>
      <div class="heading">
        <h1>The days of <span class="data">{town.town}</span></h1>
        <Status status={town.status} />
        {town.rehearsed && <span class="tag">rehearsed: no model spoke</span>}
        <Facts
          of={[
            ["simulation", town.simulation],
            ["λ", lambda(town.removal_factor)],
            ["seed", town.seed],
            ["model", town.model],
            ["people", town.people.length],
            ["encounters", town.encounters.length],
          ]}
        />
      </div>
      {town.error && <Notice isBad><p class="data">{town.error}</p></Notice>}
      {town.status !== "finished" && town.status !== "running" && (
        <Notice title={`The simulation is ${town.status}`}>
          <p>To go on: <Command words={["simulate", "--resume", town.simulation]} /></p>
        </Notice>
      )}
      {town.encounters.length === 0 && <Notice title="Nobody has met yet"><p>The first encounter appears here as soon as it is over.</p></Notice>}
      {town.encounters.length > 0 && (
        <>
          <Days town={town} days={days} day={day} />
          {day !== null && <WhereTheyAre town={town} day={day} encounters={chosen} version={version} />}
          <div class="town">
            {!(isNarrow && day !== null) && <Encounters town={town} day={day} encounters={chosen} />}
            <WhoMet town={town} day={day} encounters={chosen} />
            <Diversity town={town} />
          </div>
        </>
      )}
      <Agreements agreements={town.agreements} />
      <Memories town={town} />
    </>
  );
}

/** The date of a simulated day, `Sat 16 Nov`. */
function dateOf(iso: string): string {
  const options = { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" } as const;
  return new Intl.DateTimeFormat("en-GB", options).format(new Date(`${iso.slice(0, 10)}T00:00:00Z`));
}

function Days({ town, days, day }: { town: Town; days: readonly number[]; day: number | null }) {
  const counts = new Map(town.by_day.map((row) => [row.day, row]));
  return (
    <nav class="days scroller" aria-label="Days" tabIndex={0}>
      {days.map((number) => {
        const row = counts.get(number);
        return (
          <button key={number} aria-pressed={number === day} onClick={() => goWith({ day: number })}>
            <strong>Day {number}</strong>
            <span class="small">{row && dateOf(row.date)}</span>
            <span class="small muted">{row && counted(row.encounters, "encounter")}</span>
          </button>
        );
      })}
      <button aria-pressed={day === null} onClick={() => goWith({ day: "all" })}>
        <strong>All days</strong>
        <span class="small">{counted(days.length, "day")}</span>
        <span class="small muted">{counted(town.encounters.length, "encounter")}</span>
      </button>
    </nav>
  );
}

function WhoMet({ town, day, encounters }: { town: Town; day: number | null; encounters: readonly Encounter[] }) {
  const links = useMemo(() => linksOf(town.people, encounters), [town, encounters]);
  const met = new Set(links.flatMap(({ a, b }) => [a, b]));
  const alone = town.people.filter((name) => !met.has(name));
  const isGraph = met.size <= MOST_IN_GRAPH;
  const title = day === null ? "Who met whom, on all days" : `Who met whom, on day ${day}`;
  const people = town.people.filter((name) => met.has(name));
  return (
    <section class="stack who-met">
      <h2>Who met whom</h2>
      {isGraph ? <Graph title={title} name={`${town.simulation}-who-met`} everybody={town.people} people={people} links={links} />
        : <p class="muted">{counted(met.size, "person").replace("persons", "people")} met, too many for a drawing: the table lists the pairs.</p>}
      {alone.length > 0 && <p class="small">Met nobody: <span class="data">{alone.slice(0, 30).join(", ")}{alone.length > 30 && ` and ${alone.length - 30} more`}</span></p>}
      <Pairs links={links} people={people} isOpen={!isGraph} />
    </section>
  );
}

function Pairs({ links, people, isOpen }: { links: readonly Link[]; people: readonly string[]; isOpen: boolean }) {
  const [opened, open] = useState(isOpen);
  return (
    <details open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary class="small muted">{people.length > MOST_IN_MATRIX ? "As a list of pairs" : "As a matrix"}</summary>
      {opened && <Matrix links={links} people={people} />}
    </details>
  );
}

const FIGURES = [["dist1_equal", "dist-1"], ["dist2_equal", "dist-2"], ["dist3_equal", "dist-3"]] as const;

/** How varied the days are. */
function Diversity({ town }: { town: Town }) {
  const rows = town.by_day;
  const columns = ["day", "date", "encounters", "turns", "dist1_equal", "dist2_equal", "dist3_equal", "repeated_lines", "len", "memories", "reflections"] as const;
  const table = rows.map((row) => columns.map((name) => row[name]));
  const drawn = { columns: [...columns], rows: table, width: 560, height: 240 };
  const labels = FIGURES.map(([, label]) => label);
  const lines = (names: readonly (keyof Day)[], most: number | null, width: number, height: number, label: string) => {
    const box = { top: 44, right: 16, bottom: height - 40, left: 44 };
    const x = scalePoint<number>(rows.map(({ day }) => day), [box.left, width - box.right]).padding(0.5);
    const highest = most ?? Math.max(1, ...rows.flatMap((row) => names.map((name) => Number(row[name] ?? 0))));
    const y = scaleLinear([0, highest], [box.bottom, box.top]).nice();
    return (
      <>
        {names.length > 1 && <Legend labels={labels} x={box.left} y={4} width={width - box.left} />}
        <LeftAxis scale={y} at={box.left} count={5} grid={width - box.left - box.right} label={label} />
        <BottomAxis scale={x} at={box.bottom} count={Math.floor(width / 50)} label="day" />
        {names.map((name, index) => (
          <g key={name}>
            <Series index={index} points={rows.map((row) => [x(row.day)!, row[name] === null ? null : y(Number(row[name]))])} />
            {rows.map((row) => row[name] !== null && <circle key={row.day} cx={x(row.day)} cy={y(Number(row[name]))} r="3" style={{ fill: `var(--speaker-${index})` }} />)}
          </g>
        ))}
      </>
    );
  };
  return (
    <section class="stack varied">
      <h2>Diversity by day</h2>
      <div class="plots">
        <Plot {...drawn} title="dist-n by day" name={`${town.simulation}-diversity`} note="distinct n-grams over all n-grams, for as many of each day as the day with the fewest has">
          {(width, height) => lines(FIGURES.map(([name]) => name), 1, width, height, "")}
        </Plot>
        <Plot {...drawn} title="Length by day" name={`${town.simulation}-length`} note="words per utterance, in all conversations of a day">
          {(width, height) => lines(["len"], null, width, height, "words per utterance")}
        </Plot>
      </div>
      <p class="small muted">
        Similarity (sim) needs an embedding model, which this page does not load; <Command words={["days", town.simulation]} /> measures it.
      </p>
    </section>
  );
}

// --- memories -------------------------------------------------------------------------------------------------------

function Memories({ town }: { town: Town }) {
  const { person } = usePlace().query;
  const known = person !== undefined && town.people.includes(person) ? person : null;
  const path = known === null ? null : `towns/${encodeURIComponent(town.simulation)}/people/${encodeURIComponent(known)}`;
  // What is remembered grows with the encounters.
  const memories = useDocument<Person>(path, `${town.status} ${town.encounters.length}`);
  return (
    <section class="stack">
      <h2>What they remember</h2>
      <label class="row">
        <span>person</span>
        <select value={known ?? ""} onChange={(event) => goWith({ person: event.currentTarget.value || null })}>
          <option value="">choose…</option>
          {town.people.map((name) => <option key={name} value={name}>{name}</option>)}
        </select>
      </label>
      {person !== undefined && known === null && <p class="data">Nobody in this town is named {person}.</p>}
      {path !== null && <WithDocument of={memories}>{(document) => <Remembered person={document} begins={town.begins} />}</WithDocument>}
    </section>
  );
}

/** Return which simulated day a memory is of. */
function dayOf(memory: Memory, begins: string): number {
  const midnight = (iso: string) => Date.parse(`${iso.slice(0, 10)}T00:00:00Z`);
  return Math.round((midnight(memory.created) - midnight(begins)) / 86_400_000) + 1;
}

function Remembered({ person, begins }: { person: Person; begins: string }) {
  const days = new Map<number, Memory[]>();
  for (const memory of person.memories) {
    const day = dayOf(memory, begins);
    days.set(day, [...(days.get(day) ?? []), memory]);
  }
  if (!person.memories.length) {
    return <p><span class="data">{person.agent}</span> has no memories of these days; {counted(person.before, "memory").replace("memorys", "memories")} from before.</p>;
  }
  const count = person.memories.length;
  return (
    <>
      <p class="small muted">{count === 1 ? "1 memory" : `${count.toLocaleString("en")} memories`} of these days, and {person.before.toLocaleString("en")} from before</p>
      <div class="memories">
        {[...days].map(([day, memories]) => (
          <section key={day} class="stack">
            <h3>Day {day}, {dateOf(memories[0]!.created)}</h3>
            <ul>{memories.map((memory, index) => <Remembering key={index} memory={memory} texts={person.evidence} />)}</ul>
          </section>
        ))}
      </div>
    </>
  );
}

function Remembering({ memory, texts }: { memory: Memory; texts: Person["evidence"] }) {
  const kind = memory.evidence.length ? "insight" : memory.kind;
  return (
    <li class={`memory ${kind}`}>
      <p class="row small">
        <span class="tag">{kind}</span>
        <span class="number muted">{memory.created.slice(11, 16)}</span>
        <span class="muted">importance {memory.importance}</span>
      </p>
      <p class="data"><LongText text={memory.text} /></p>
      {memory.evidence.length > 0 && (
        <details>
          <summary class="small muted">rests on {memory.evidence.length === 1 ? "1 memory" : `${memory.evidence.length} memories`}</summary>
          <ul class="small">{memory.evidence.map((id, index) => <li key={index} class="data"><LongText text={texts[id] ?? id} /></li>)}</ul>
        </details>
      )}
    </li>
  );
}

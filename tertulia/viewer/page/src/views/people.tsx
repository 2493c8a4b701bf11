/** People who are brought: files are dropped on the list of runs, their people are shown, and a conversation begins with them. */

import { useEffect, useRef, useState } from "preact/hooks";
import { isGoingOn, Started, type StartedCommand, useStarted } from "../components/started";
import { WithDocument } from "../components/parts";
import { counted, inWords } from "../format";
import { idsOf, listOfIds } from "../id_list";
import { go, goWith, hrefOf, usePlace } from "../router";
import { saveText } from "../save";
import { request } from "../server_request";
import { source } from "../source";
import "../styles/people.css";
import { useDocument } from "../use_document";
import { useAllowed } from "./actions";
import { LONGEST_TEXT } from "./fork/draft";

interface Person {
  /** Null for what belongs to the people of other files, such as a lorebook. */
  readonly name: string | null;
  readonly kind: string;
  readonly fields: readonly { readonly field: string; readonly values: readonly string[]; readonly more: number }[];
  readonly not_taken: readonly { readonly field: string; readonly value: string; readonly goes_to: string }[];
  readonly more: number;
}

/** The document `api/people`. */
interface People {
  readonly files: readonly { readonly id: string; readonly name: string }[];
  readonly people: readonly Person[];
  readonly more: number;
  readonly situation: string;
  /** The name of the visitor whom a person meets who was brought alone. */
  readonly visitor: string | null;
  /** Why these people can't meet. */
  readonly problem: string | null;
}

/** The most bytes of a file, as the server has it (LARGEST_FILE in viewer/people.py). */
const LARGEST_FILE = 50_000_000;

const NOT_ALLOWED = "People are brought where the page may start runs: tertulia view --allow-runs";

/** Return the button that brings files, what is shown of them, and whether one is held above the page. */
export function useBringing() {
  const mayStart = useAllowed("can_start");
  const { query } = usePlace();
  const [reading, setReading] = useState("");
  const [problems, setProblems] = useState<readonly string[]>([]);
  const files = idsOf(query.people);
  const held = useRef(files);
  held.current = files;
  const bring = async (given: readonly File[]) => {
    const found: string[] = [];
    for (const file of mayStart ? given : []) {
      setReading(file.name);
      try {
        if (file.size > LARGEST_FILE) throw new Error(`${file.name} is larger than 50 MB, the most that a file may have.`);
        const { file: id } = await request<{ file: string }>(`people?${new URLSearchParams({ name: file.name })}`, file);
        held.current = [...held.current, id]; // another drop may be on its way
        if (isHere.current) goWith({ people: listOfIds(held.current) });
      } catch (error) {
        found.push((error as Error).message);
      }
    }
    setReading("");
    setProblems(mayStart ? found : [NOT_ALLOWED]);
  };
  const isHere = useRef(true);
  useEffect(() => () => void (isHere.current = false), []);
  const isOver = useDrop(bring);
  const show = (ids: readonly string[]) => {
    setProblems([]);
    goWith({ people: listOfIds(ids) });
  };
  const panel = (
    <>
      <div role="alert" class="people-problems stack">{problems.map((problem) => <p key={problem} class="notice bad data small">{problem}</p>)}</div>
      <p role="status" class="small people-reading">{reading && <>Reading <bdi class="data">{reading}</bdi>…</>}</p>
      {mayStart && files.length > 0 && <Panel files={files} show={show} />}
    </>
  );
  return { mayStart, isOver, button: mayStart ? <BringButton bring={bring} /> : null, panel: source.isFile ? null : panel };
}

/** Bring the files that are dropped anywhere on the page; return whether some are held above it. */
function useDrop(bring: (files: readonly File[]) => Promise<void>): boolean {
  const [isOver, setOver] = useState(false);
  const last = useRef(bring);
  last.current = bring;
  useEffect(() => {
    if (source.isFile) return;
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const drop = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault(); // or the browser opens the file in the place of the page
      setOver(false);
      void last.current([...event.dataTransfer.files]);
    };
    const listeners = [["dragover", over], ["dragleave", leave], ["drop", drop]] as const;
    for (const [name, listener] of listeners) addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of listeners) removeEventListener(name, listener as EventListener);
    };
  }, []);
  return isOver;
}

function BringButton({ bring }: { bring: (files: readonly File[]) => Promise<void> }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button title="Character cards (PNG, JSON, CHARX), lorebooks, TinyTroupe, Sotopia, SDialog, tables; or drop them on the page" onClick={() => input.current!.click()}>
        Bring people…
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          void bring([...(currentTarget.files ?? [])]);
          currentTarget.value = ""; // so that the same file can be chosen again
        }}
      />
    </>
  );
}

function Panel({ files, show }: { files: readonly string[]; show: (ids: readonly string[]) => void }) {
  const people = useDocument<People>(`people?files=${files.join(",")}`);
  const [draft, setDraft] = useState<Draft>({ situation: null, visitor: null, factor: "", rehearse: false });
  return (
    <section class="card stack" aria-label="People who were brought">
      <div class="row">
        <h2>People</h2>
        {people.state === "ready" && people.value.files.map(({ id, name }) => (
          <span key={id} class="tag people-file">
            <bdi class="data">{name}</bdi>
            <button class="plain" aria-label={`Take ${name} away`} title="Take away" onClick={() => show(files.filter((file) => file !== id))}>×</button>
          </span>
        ))}
        <span style={{ flex: 1 }} />
        <button onClick={() => show([])}>Close</button>
      </div>
      <WithDocument of={people}>
        {(found) => (
          <div class="people-columns">
            <div class="people-read stack" role="group" aria-label="As they were read" tabIndex={0}>
              {found.people.map((person, place) => <Read key={place} person={person} isOpen={found.people.length <= 2} />)}
              {found.more > 0 && <p class="muted small">and {found.more.toLocaleString("en")} more people</p>}
            </div>
            {found.problem === null ? <BeginForm files={files} people={found} draft={draft} change={(changes) => setDraft({ ...draft, ...changes })} /> : <p class="notice bad data small" role="alert">{found.problem}</p>}
          </div>
        )}
      </WithDocument>
    </section>
  );
}

/** A person as they were read: the values that are taken, and those that are not, with their destination. */
function Read({ person, isOpen }: { person: Person; isOpen: boolean }) {
  const left = person.not_taken.length + person.more;
  return (
    <details class="person" open={isOpen}>
      <summary>
        <b class="data">{person.name ?? "For all of them"}</b> <span class="muted small">{person.kind}{left > 0 && `, ${counted(left, "field")} not taken`}</span>
      </summary>
      <dl class="small">
        {person.fields.map(({ field, values, more }) => (
          <div key={field}>
            <dt>{inWords(field)}</dt>
            <dd>
              {values.length === 1 && more === 0 ? <span class="data">{values[0]}</span> : (
                <ul>
                  {values.map((value, place) => <li key={place} class="data">{value}</li>)}
                  {more > 0 && <li class="muted">and {more.toLocaleString("en")} more</li>}
                </ul>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {left > 0 && (
        <details class="small">
          <summary>Not taken</summary>
          <dl>
            {person.not_taken.map(({ field, value, goes_to }, place) => (
              <div key={place}>
                <dt class="data">{field.split(".").map((part, at) => <>{at > 0 && <>.<wbr /></>}{part}</>)}</dt>
                <dd><span class="data">{value}</span> <span class="muted">— {goes_to}</span></dd>
              </div>
            ))}
          </dl>
          {person.more > 0 && <p class="muted">and {person.more.toLocaleString("en")} more</p>}
        </details>
      )}
    </details>
  );
}

/** What is settled before a conversation begins; null where nothing was typed. */
interface Draft {
  readonly situation: string | null;
  readonly visitor: string | null;
  readonly factor: string;
  readonly rehearse: boolean;
}

interface BeginProps {
  readonly files: readonly string[];
  readonly people: People;
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
}

function BeginForm({ files, people, draft, change }: BeginProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const [started, follow] = useStarted((run) => go(hrefOf(["runs", run], { seats: people.visitor === null ? null : 1 })));
  const visitor = draft.visitor ?? people.visitor ?? "";
  const asked = { files, situation: draft.situation, visitor };
  const factor = draft.factor === "" ? null : Number(draft.factor);
  const begin = () => follow(request<StartedCommand>("people/begin", { ...asked, lambda: factor, rehearse: draft.rehearse }));
  const save = () =>
    void request<{ name: string; text: string }>("people/scenario", asked).then(
      ({ name, text }) => (setProblem(null), saveText(name, text, "application/yaml")),
      (error: Error) => setProblem(error.message),
    );
  return (
    <form class="people-begin stack small" onSubmit={(event) => (event.preventDefault(), begin())}>
      <label>
        Situation
        <textarea rows={4} maxLength={LONGEST_TEXT} value={draft.situation ?? people.situation} placeholder="They meet and talk." onInput={(event) => change({ situation: event.currentTarget.value })} />
      </label>
      {people.visitor !== null && (
        <label>
          You are
          <input value={visitor} maxLength={80} required onInput={(event) => change({ visitor: event.currentTarget.value })} />
          <span class="muted">You speak with <bdi class="data">{people.people[0]?.name ?? "them"}</bdi>: a seat is kept for you.</span>
        </label>
      )}
      <label>
        λ (0 removes nothing)
        <input type="number" min="0" max="1" step="0.05" value={draft.factor} placeholder="0" onInput={(event) => change({ factor: event.currentTarget.value })} />
      </label>
      <label class="people-rehearse"><input type="checkbox" checked={draft.rehearse} onChange={(event) => change({ rehearse: event.currentTarget.checked })} />Rehearse: a stand-in without a model speaks</label>
      <p class="row">
        <button class="primary" disabled={isGoingOn(started)}>Begin</button>
        <button type="button" onClick={save}>Save as YAML</button>
      </p>
      {problem !== null && <p class="notice bad data" role="alert">{problem}</p>}
      {started !== null && <Started command={started} what="The conversation" />}
    </form>
  );
}

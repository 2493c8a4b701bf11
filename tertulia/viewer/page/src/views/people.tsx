/** Files of people: dropped anywhere on the lists and the form, or chosen; read by the server, and shown as they were read. */

import { useEffect, useRef, useState } from "preact/hooks";
import { counted, inWords } from "../format";
import { idsOf, listOfIds } from "../id_list";
import { go, goWith, hrefOf, pathNow, usePlace } from "../router";
import { request } from "../server_request";
import { source } from "../source";
import "../styles/people.css";
import { useAllowed } from "./actions";
import { isUnfinished, keptDraft } from "./new_draft";

export interface Person {
  /** Null for what belongs to the people of other files, such as a lorebook. */
  readonly name: string | null;
  readonly kind: string;
  readonly fields: readonly { readonly field: string; readonly values: readonly string[]; readonly more: number }[];
  readonly not_taken: readonly { readonly field: string; readonly value: string; readonly goes_to: string }[];
  readonly more: number;
}

/** The document `api/people`. */
export interface People {
  readonly files: readonly { readonly id: string; readonly name: string }[];
  readonly people: readonly Person[];
  readonly more: number;
  readonly situation: string;
  readonly place: string;
  /** As the field of a form has it; null if no file says it. */
  readonly time: string | null;
  /** The name of the visitor whom a person meets who was brought alone. */
  readonly visitor: string | null;
  /** Why these people can't meet. */
  readonly problem: string | null;
}

/** The most bytes of a file, as the server has it (LARGEST_FILE in viewer/people.py). */
const LARGEST_FILE = 50_000_000;

const NOT_ALLOWED = "People are brought where the page may start runs: tertulia view --allow-runs";

/** Return the button that brings files, what is shown of them, and whether one is held above the page. */
/** Files that were dropped elsewhere, until the form has read them. */
let dropped: readonly File[] = [];

/** Have the form read the files that are dropped on this view; return whether some are held above it, and a problem. */
export function useDropElsewhere(): { readonly mayStart: boolean; readonly isOver: boolean; readonly problem: string | null } {
  const mayStart = useAllowed("can_start");
  const [problem, setProblem] = useState<string | null>(null);
  const isOver = useDrop((files) => {
    if (!mayStart) return setProblem(NOT_ALLOWED);
    dropped = [...dropped, ...files];
    go(hrefOf(["new"]));
  });
  return { mayStart, isOver, problem };
}

/** The files that the form has, by the ids of its address. */
export interface Bringing {
  readonly files: readonly string[];
  readonly isOver: boolean;
  readonly reading: string;
  readonly problems: readonly string[];
  /** Files that were dropped elsewhere while a draft is unfinished: the reader says whether they join it. */
  readonly waiting: readonly File[];
  readonly takeWaiting: () => void;
  readonly bring: (files: readonly File[]) => Promise<void>;
  readonly show: (ids: readonly string[]) => void;
}

export function useBringing(): Bringing {
  const { query } = usePlace();
  const [reading, setReading] = useState("");
  const [problems, setProblems] = useState<readonly string[]>([]);
  const files = idsOf(query.people);
  const held = useRef(files);
  held.current = files;
  const bring = async (given: readonly File[]) => {
    const found: string[] = [];
    for (const file of given) {
      setReading(file.name);
      try {
        if (file.size > LARGEST_FILE) throw new Error(`${file.name} is larger than 50 MB, the most that a file may have.`);
        const { file: id } = await request<{ file: string }>(`people?${new URLSearchParams({ name: file.name })}`, file);
        held.current = [...held.current, id]; // another drop may be on its way
        if (pathNow() === "new") goWith({ people: listOfIds(held.current) });
      } catch (error) {
        found.push((error as Error).message);
      }
    }
    setReading("");
    setProblems(found);
  };
  const isOver = useDrop((files) => void bring(files));
  const [waiting, setWaiting] = useState<readonly File[]>([]);
  useEffect(() => {
    const given = dropped;
    dropped = [];
    if (given.length && isUnfinished(keptDraft())) setWaiting(given);
    else if (given.length) void bring(given);
  }, []);
  const takeWaiting = () => {
    setWaiting([]);
    void bring(waiting);
  };
  const show = (ids: readonly string[]) => {
    setProblems([]);
    goWith({ people: listOfIds(ids) });
  };
  return { files, isOver, reading, problems, waiting, takeWaiting, bring, show };
}

/** Take the files that are dropped anywhere on the page; return whether some are held above it. */
function useDrop(bring: (files: readonly File[]) => void): boolean {
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
      last.current([...event.dataTransfer.files]);
    };
    const listeners = [["dragover", over], ["dragleave", leave], ["drop", drop]] as const;
    for (const [name, listener] of listeners) addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of listeners) removeEventListener(name, listener as EventListener);
    };
  }, []);
  return isOver;
}

export function BringButton({ bring }: { bring: (files: readonly File[]) => Promise<void> }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" title="Character cards (PNG, JSON, CHARX), lorebooks, TinyTroupe, Sotopia, SDialog, tables; or drop them on the page" onClick={() => input.current!.click()}>
        From a file…
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

/** A person as they were read: the values that are taken, and those that are not, with their destination. */
export function Read({ person, isOpen }: { person: Person; isOpen: boolean }) {
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

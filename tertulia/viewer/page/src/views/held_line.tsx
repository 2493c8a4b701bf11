/** A pause before the next line of a run that goes on: who is about to say what, and what becomes of it. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Speaker } from "../components/speakers";
import type { Run } from "../documents";
import { counted, inWords, number } from "../format";
import { request } from "../server_request";
import "../styles/held_line.css";
import { useAllowed } from "./actions";

interface HeldCandidate {
  readonly attempt: number;
  /** Its place among the candidates, from 1. */
  readonly number: number;
  readonly text: string;
  readonly origin: string;
  readonly inconsistency: number | null;
  readonly chosen: boolean;
}

export interface HeldLine {
  readonly turn: number;
  readonly speaker: string;
  readonly text: string;
  /** Whether the line would end the conversation. */
  readonly ended: boolean;
  readonly candidates: readonly HeldCandidate[];
  /** Who raced for the floor in a meeting, the fastest first. */
  readonly race: readonly { readonly agent: string; readonly latency_s: number | null; readonly won: boolean }[];
}

/** The document `api/pause`. */
export interface Pause {
  readonly run: string;
  readonly status: string;
  readonly driven: boolean;
  readonly pausable: boolean;
  readonly wanted: boolean;
  readonly held: HeldLine | null;
  readonly longest: number;
}

/** Milliseconds between two looks: while a pause is wanted, and else. */
const [LOOK_SOON_MS, LOOK_EVERY_MS] = [300, 2000];

/** The pause of a run, as it stands now, and what changes it; `null` where the page can't pause it. */
export interface PauseControl {
  readonly pause: Pause;
  readonly problem: string | null;
  readonly change: (body: object) => Promise<boolean>;
}

export function usePause(run: Run, isOver: boolean): PauseControl | null {
  const canStart = useAllowed("can_start");
  const isWatched = canStart && !isOver && run.kind !== "album_chat";
  const [pause, setPause] = useState<Pause | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const look = () => request<Pause>(`pause?run=${encodeURIComponent(run.run)}`).then(setPause, () => {});
  const isSoon = pause?.wanted === true && pause.held === null;
  useEffect(() => {
    if (!isWatched) return setPause(null);
    void look();
    const timer = setInterval(() => document.hidden || look(), isSoon ? LOOK_SOON_MS : LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [run.run, isWatched, isSoon]);
  const change = (body: object) =>
    request("pause", { run: run.run, ...body }).then(
      () => (setProblem(null), look().then(() => true)),
      (error: Error) => (setProblem(error.message), look().then(() => false)),
    );
  return pause?.pausable && isWatched ? { pause, problem, change } : null;
}

/** Asks for a pause, or takes that back. */
export function PauseButton({ control }: { control: PauseControl }) {
  const { pause, change } = control;
  if (pause.held !== null) return <span class="tag held-tag">Paused before turn {pause.held.turn}</span>;
  return (
    <button aria-pressed={pause.wanted} title="The run stops before the next line enters the conversation; you can rewrite it." onClick={() => void change({ pause: !pause.wanted })}>
      {pause.wanted ? "Pausing before the next line…" : "Pause before the next line"}
    </button>
  );
}

/** The line that is held, with its field; nothing while none is. */
export function HeldPanel({ run, control }: { run: Run; control: PauseControl }) {
  const { pause, problem } = control;
  return (
    <>
      <div class="held-alert" role="alert">{problem !== null && <p class="notice bad data small">{problem}</p>}</div>
      {pause.held !== null && <Held key={`${run.run} ${pause.held.turn}`} run={run} line={pause.held} control={control} />}
    </>
  );
}

function Held({ run, line, control }: { run: Run; line: HeldLine; control: PauseControl }) {
  const [words, type, forget] = useDraft(`tertulia held ${run.run} ${line.turn}`, line.text);
  const [isAgain, setAgain] = useState(false);
  const [isSending, setSending] = useState(false);
  const [field, heading, box] = [useId(), useId(), useRef<HTMLTextAreaElement>(null)];
  useEffect(() => box.current?.focus({ preventScroll: true }), []);
  const isChanged = words.trim() !== line.text.trim();
  const length = [...words.trim()].length;
  const isTooLong = length > control.pause.longest;
  const send = async (said: string | null) => {
    setSending(true);
    if (await control.change({ turn: line.turn, words: said, again: isAgain })) forget();
    setSending(false);
  };
  return (
    <section class="card held-line" aria-labelledby={heading}>
      <form
        class="stack held-form"
        onSubmit={(event) => {
          event.preventDefault();
          void send(isChanged ? words : null);
        }}
      >
        <h2 id={heading}>
          Turn {line.turn}: <Speaker people={run.people} name={line.speaker} /> is about to say
        </h2>
        <textarea id={field} ref={box} class="words" rows={3} value={words} aria-label={`What ${line.speaker} says in turn ${line.turn}`} onInput={(event) => type(event.currentTarget.value)} />
        <div class="row">
          <button class="primary" disabled={isSending || isTooLong || !words.trim()}>{isChanged ? "Go on with my words" : "Go on with this line"}</button>
          {isChanged && <button type="button" onClick={() => type(line.text)}>Back to the model's line</button>}
          <label class="row small"><input type="checkbox" checked={isAgain} onChange={() => setAgain(!isAgain)} />Pause before the next line too</label>
          <span class={`small number ${isTooLong ? "held-long" : "muted"}`} aria-live="polite">
            {length > control.pause.longest * 0.8 && `${length.toLocaleString("en")} of ${control.pause.longest.toLocaleString("en")} characters`}
          </span>
        </div>
        <p class="small muted">
          {isChanged
            ? `Recorded as written by a person in the place of candidate ${line.candidates.find(({ chosen }) => chosen)!.number}${line.ended ? "; it does not end the conversation, as the model's line would" : ""}.`
            : `Nothing of it has entered the conversation. Left as it is, the run goes on as if it had not been paused${line.ended ? ", and ends with this line" : ""}.`}
        </p>
        {!control.pause.driven && <p class="small">The run's process has ended; it goes on with your answer.</p>}
      </form>
      <div class="held-behind stack">
        <Race run={run} line={line} />
        <Candidates line={line} use={type} />
      </div>
    </section>
  );
}

function Race({ run, line }: { run: Run; line: HeldLine }) {
  const willing = line.race.filter(({ latency_s }) => latency_s !== null);
  if (!willing.length) return null;
  return (
    <div>
      <h3>Who wanted the floor</h3>
      <ol class="held-race">
        {willing.map(({ agent, latency_s, won }) => (
          <li key={agent}>
            <Speaker people={run.people} name={agent} /> <span class="number small">{number(latency_s, 2)} s</span>
            {won && <span class="tag good">has the floor</span>}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Candidates({ line, use }: { line: HeldLine; use: (text: string) => void }) {
  const others = line.candidates.filter(({ chosen }) => !chosen);
  if (!others.length) return <p class="small muted">It is the only candidate.</p>;
  return (
    <div>
      <h3>{counted(others.length, "other candidate")}</h3>
      <ul class="held-candidates">
        {others.map((candidate) => (
          <li key={candidate.attempt}>
            <p class="words data">{candidate.text}</p>
            <p class="row small">
              <span class="muted">
                candidate {candidate.number}, {inWords(candidate.origin)}
                {candidate.inconsistency !== null && <>, inconsistency <span class="number">{number(candidate.inconsistency, 2)}</span></>}
              </span>
              <button type="button" class="plain small" onClick={() => use(candidate.text)}>Take these words</button>
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What is typed, which outlives the page until it is sent. */
function useDraft(key: string, text: string): [string, (words: string) => void, () => void] {
  const [words, setWords] = useState(() => {
    try {
      return localStorage.getItem(key) ?? text;
    } catch {
      return text; // a page in a sandbox keeps nothing
    }
  });
  const type = (typed: string) => {
    setWords(typed);
    try {
      if (typed === text) localStorage.removeItem(key);
      else localStorage.setItem(key, typed.slice(0, 20_000));
    } catch {
      // it is shown all the same
    }
  };
  const forget = () => {
    try {
      localStorage.removeItem(key);
    } catch {
      // nothing was kept
    }
  };
  return [words, type, forget];
}

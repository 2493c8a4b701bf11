/** A seat: what its person perceives, and where they type their lines. The others' thoughts are not shown here. */

import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Status } from "../components/parts";
import { Spoken } from "../components/spoken";
import { Speaker } from "../components/speakers";
import { ThemeButton } from "../components/theme";
import { listed } from "../format";
import { type SeatDocument, type SeatLine, sendToSeat, watchSeat } from "../seat_request";
import "../styles/seat.css";
import { RaceClock } from "./seat_clock";

export function SeatPage() {
  const [seat, setSeat] = useState<SeatDocument | null>(null);
  const [problem, tell] = useState<string | null>(null);
  const first = useRef<string | null>(null);
  useEffect(() => watchSeat(setSeat, tell), []);
  useEffect(() => {
    if (!seat) return;
    first.current ??= seat.version;
    document.title = `${seat.asked ? "● " : ""}${seat.agent} · Tertulia`;
  }, [seat?.agent, seat?.version, seat?.asked?.turn]);
  const isOutdated = seat !== null && first.current !== null && first.current !== seat.version;
  return (
    <>
      <header class="top">
        <span class="brand">Tertulia</span>
        {seat && <span class="seat-name">You speak for <Speaker people={seat.people} name={seat.agent} /></span>}
        <span style={{ flex: 1 }} />
        <ThemeButton />
      </header>
      <div role="alert">
        {problem !== null && <p class="notice bad data">{problem}</p>}
        {isOutdated && <p class="notice data">The viewer is of another version now. Reload this page; what you have typed is kept.</p>}
      </div>
      {seat ? <Seat seat={seat} /> : problem === null && <main class="view"><p class="muted" role="status">Reading…</p></main>}
    </>
  );
}

function Seat({ seat }: { seat: SeatDocument }) {
  return (
    <main class="view seat-view">
      <div class="heading">
        <h1 class="words-title"><bdi class="data">{seat.title}</bdi></h1>
        <Status status={seat.status} />
        <p class="small muted data">with {listed(seat.present)}{seat.place && <>; <bdi>{seat.place}</bdi></>}</p>
        {seat.situation && <p class="small data">{seat.situation}</p>}
      </div>
      <div class="seat-columns">
        <section class="card seat-talk" aria-label="Conversation">
          <Lines seat={seat} />
          <Composer key={`${seat.run} ${seat.agent}`} seat={seat} />
        </section>
        <aside class="seat-aside">
          {seat.race && (
            <section class="card stack" aria-label="The clock">
              <h2>Who speaks first</h2>
              <RaceClock race={seat.race} turn={seat.asked?.turn ?? null} lastTurn={seat.turn - 1} agent={seat.agent} />
            </section>
          )}
          <section class="card stack">
            <h2>Who you are</h2>
            {seat.role.map((line) => <p key={line} class="data small">{line}</p>)}
            {seat.forked_at !== null && (
              <p class="small muted">
                This is a fork: it parted from another run at turn {seat.forked_at}, and nothing that is said here comes into that one.
              </p>
            )}
          </section>
          {seat.memories.length > 0 && (
            <section class="card stack">
              <h2>What you recall now</h2>
              <ul class="seat-memories small">{seat.memories.map((memory) => <li key={memory} class="data">{memory}</li>)}</ul>
            </section>
          )}
        </aside>
      </div>
    </main>
  );
}

function Lines({ seat }: { seat: SeatDocument }) {
  const end = useRef<HTMLDivElement>(null);
  const last = seat.lines.at(-1)?.turn;
  useLayoutEffect(() => {
    if (end.current) end.current.scrollTop = end.current.scrollHeight;
  }, [last, seat.asked?.turn, seat.asked?.kept]); // what stands below it may take more room than before
  return (
    <div class="seat-lines" role="log" aria-label="What was said" tabIndex={0} ref={end}>
      {seat.lines.length === 0 && <p class="muted">Nothing has been said yet.</p>}
      {seat.lines.map((line) => <Line key={line.turn} line={line} people={seat.people} />)}
    </div>
  );
}

function Line({ line, people }: { line: SeatLine; people: readonly string[] }) {
  if (line.speaker === null) return <p class="seat-silence small muted"><span class="number">{line.time}</span> Nobody speaks.</p>;
  return (
    <div class={`seat-line ${line.own ? "own" : ""}`}>
      <p class="small"><Speaker people={people} name={line.speaker} /> <span class="number muted">{line.time}</span></p>
      <p class="words data"><Spoken text={line.text} parts={line.spoken} /></p>
    </div>
  );
}

/** Return what a person should know of how things stand. */
function situation(seat: SeatDocument): string {
  if (seat.status === "finished") return "The conversation is over.";
  if (seat.left) return `You have left this seat. The model speaks for ${seat.agent}.`;
  if (seat.asked && !seat.driven) return "The run has stopped. Nothing is lost: with your line it goes on.";
  if (seat.asked?.kept) return "You did not get the floor for these words. Send them again, change them, or stay silent.";
  if (seat.asked?.may_pass) return "Do you want to speak? The others are thinking.";
  if (seat.asked) return "It is your turn.";
  const waiting = seat.waiting_for.length ? `Waiting for ${listed(seat.waiting_for)}.` : "The others go on.";
  if (seat.answered !== null && seat.driven) return `${seat.answered ? "Sent." : "You stay silent."} ${waiting}`;
  if (!seat.driven) return "The run has stopped. Nothing is lost.";
  return `${waiting} You will be asked.`;
}

const draftKey = (seat: SeatDocument) => `tertulia-seat-${seat.run}-${seat.agent}`;

function kept(key: string): string {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return ""; // a page in a sandbox keeps nothing
  }
}

/** What is typed, which outlives the page until it is sent. */
function useDraft(seat: SeatDocument): [string, (text: string) => void] {
  const key = draftKey(seat);
  const [draft, setDraft] = useState(() => kept(key));
  const keep = (text: string) => {
    setDraft(text);
    try {
      sessionStorage.setItem(key, text.slice(0, 200_000));
    } catch {
      // it is shown all the same
    }
  };
  useEffect(() => {
    if (seat.asked?.kept && draft === "") keep(seat.asked.kept);
  }, [seat.asked?.turn]);
  return [draft, keep];
}

const seconds = (since: number) => (performance.now() - since) / 1000;

function Composer({ seat }: { seat: SeatDocument }) {
  const [draft, setDraft] = useDraft(seat);
  const [problem, setProblem] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const since = useRef(performance.now());
  const [field, status, box] = [useId(), useId(), useRef<HTMLTextAreaElement>(null)];
  const asked = seat.asked;
  useEffect(() => {
    since.current = performance.now();
    setProblem(null);
    if (asked) box.current?.focus();
  }, [asked?.turn]);
  const isOver = seat.status === "finished" || seat.left;
  const length = [...draft.trim()].length;
  const isTooLong = length > seat.longest;
  const send = async (words: string) => {
    if (!asked || isSending) return;
    if (!words.trim() && !asked.may_pass) return setProblem("Type what you want to say: nobody else can speak now.");
    setSending(true);
    try {
      await sendToSeat({ turn: asked.turn, words, seconds: seconds(since.current), agent: seat.agent });
      setProblem(null);
      setDraft("");
    } catch (error) {
      setProblem((error as Error).message);
    }
    setSending(false);
  };
  return (
    <form
      class="seat-composer stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (draft.trim()) void send(draft);
        else setProblem(asked?.may_pass ? "The line is empty. Type something, or stay silent." : "The line is empty. Type what you want to say.");
      }}
    >
      <p id={status} class={`seat-situation ${asked ? "asked" : ""}`} role="status">{situation(seat)}</p>
      {!isOver && (
        <>
          <label class="visually-hidden" for={field}>Your line</label>
          <textarea
            id={field}
            ref={box}
            class="words"
            rows={3}
            dir="auto"
            value={draft}
            aria-describedby={status}
            placeholder={asked ? `What ${seat.agent} says` : "You can type already; it is sent once you are asked."}
            onInput={(event) => setDraft(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              event.currentTarget.form?.requestSubmit();
            }}
          />
          <div class="row">
            <button class="primary" disabled={!asked || isSending}>{asked ? `Say it in turn ${asked.turn}` : "Say it"}</button>
            {asked?.may_pass && <button type="button" disabled={isSending} onClick={() => void send("")}>Stay silent</button>}
            <span class={`small number ${isTooLong ? "seat-long" : "muted"}`} aria-live="polite">
              {length > seat.longest * 0.8 && `${length.toLocaleString("en")} of ${seat.longest.toLocaleString("en")} characters`}
            </span>
            <span style={{ flex: 1 }} />
            <LeaveButton agent={seat.agent} fail={setProblem} />
          </div>
        </>
      )}
      {!seat.driven && !asked && seat.status !== "finished" && <GoOnButton fail={setProblem} />}
      <div role="alert">{problem !== null && <p class="notice bad data small">{problem}</p>}</div>
    </form>
  );
}

/** Goes on with a run whose process was killed while nobody was asked: else a line does. */
function GoOnButton({ fail }: { fail: (problem: string) => void }) {
  const [isSending, setSending] = useState(false);
  const goOn = () => {
    setSending(true);
    sendToSeat({ go_on: true }).catch((error: Error) => fail(error.message)).finally(() => setSending(false));
  };
  return <p><button type="button" disabled={isSending} onClick={goOn}>Go on</button></p>;
}

function LeaveButton({ agent, fail }: { agent: string; fail: (problem: string) => void }) {
  const [isAsking, ask] = useState(false);
  if (!isAsking) return <button type="button" class="plain" onClick={() => ask(true)}>Leave the seat</button>;
  const leave = () => sendToSeat({ leave: true }).catch((error: Error) => fail(error.message));
  return (
    <span class="row small" role="group" aria-label="Leave the seat">
      The model will speak for {agent}.
      <button type="button" onClick={() => void leave()}>Leave</button>
      <button type="button" onClick={() => ask(false)}>Stay</button>
    </span>
  );
}

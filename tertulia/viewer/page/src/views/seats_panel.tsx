/** The seats of a run, for who holds the viewer: who has one, the invitations, and a fork in which people sit. */

import { useEffect, useState } from "preact/hooks";
import { isGoingOn, type StartedCommand, useStarted } from "../components/started";
import type { Run } from "../documents";
import { listed } from "../format";
import { go, hrefOf, usePlace } from "../router";
import { request } from "../server_request";
import { commandLine } from "../shell";
import { source } from "../source";
import "../styles/actions.css";
import "../styles/seat.css";

interface Person {
  readonly name: string;
  readonly seated: boolean;
  readonly left: boolean;
  readonly asked: boolean;
  readonly token: string | null;
}

/** The document `api/seats`. */
interface Seats {
  readonly run: string;
  readonly status: string;
  readonly turns: number;
  readonly driven: boolean;
  readonly people: readonly Person[];
}

const LOOK_EVERY_MS = 1000;

/** Seats behind a button beside the heading of a run; an album chat, or an exported file, has none. */
export function SeatsPanel({ run }: { run: Run }) {
  const { query } = usePlace();
  const [isOpen, open] = useState(query.seats === "1");
  useEffect(() => {
    if (query.seats === "1") open(true);
  }, [run.run, query.seats]);
  if (source.isFile || run.kind === "album_chat") return null;
  return (
    <details class="resume seats" open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary class="button">Seats</summary>
      {isOpen && <div class="card stack"><Panel key={run.run} run={run} /></div>}
    </details>
  );
}

function Panel({ run }: { run: Run }) {
  const [seats, setSeats] = useState<Seats | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [mayStart, setMayStart] = useState<boolean | null>(null);
  const path = `seats?run=${encodeURIComponent(run.run)}`;
  const look = () => request<Seats>(path).then(setSeats, () => {});
  useEffect(() => {
    request<{ can_start: boolean }>("start").then(({ can_start }) => setMayStart(can_start), () => {});
  }, []);
  useEffect(() => {
    if (!mayStart) return;
    void look();
    const timer = setInterval(look, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [mayStart, path]);
  const act = (doing: Promise<unknown>) =>
    void doing.then(() => setProblem(null), (error: Error) => setProblem(error.message)).then(look);
  if (mayStart === false) return <NotAllowed run={run} />;
  if (seats === null) return <p class="muted small">Reading…</p>;
  const people = seats.people.filter(({ seated }) => seated);
  return (
    <>
      {people.length > 0 && seats.status !== "finished" && <Invitations seats={seats} people={people} parent={run.parent} act={act} />}
      {people.length > 0 && seats.status !== "finished"
        ? <details class="actions"><summary>Other seats, in another run</summary><NewSeats seats={seats} /></details>
        : <NewSeats seats={seats} />}
      <div role="alert">{problem !== null && <p class="notice bad data small">{problem}</p>}</div>
    </>
  );
}

function NotAllowed({ run }: { run: Run }) {
  const line = commandLine(["tertulia", "fork", run.run, "--at", String(run.turns + 1), "--seat", run.people[0] ?? ""]);
  return (
    <>
      <p class="small">Seats are given where the page may start runs: <span class="code">tertulia view --allow-runs</span></p>
      <p class="small">At a terminal, <span class="code">--seat</span> takes one, of any participant:</p>
      <div class="command data small">{line}</div>
    </>
  );
}

interface InvitationsProps {
  readonly seats: Seats;
  readonly people: readonly Person[];
  readonly parent: Run["parent"];
  readonly act: (doing: Promise<unknown>) => void;
}

const addressOf = (token: string) => `${location.origin}/?seat=${token}`;

function Invitations({ seats, people, parent, act }: InvitationsProps) {
  const invite = (agent: string, withdraw: boolean) => request<{ token: string | null }>("seats", { run: seats.run, agent, withdraw });
  // Where a browser opens no tab by itself, the invitation stands there with its link.
  const sit = (agent: string) =>
    act(invite(agent, false).then(({ token }) => void (token && open(addressOf(token), "_blank", "noopener,noreferrer"))));
  return (
    <section class="stack" aria-label="Seats of this run">
      {parent && (
        <p class="small data">
          This run is a fork of {parent.run}, in which people speak for {listed(people.map(({ name }) => name))}. That run is not
          changed by it: if it is going on, it goes on without them.
        </p>
      )}
      <p class="small">An invitation is an address for one seat. It shows what that person perceives, and sends that person's lines.</p>
      {people.map((person) => (
        <div key={person.name} class="seat-invitation">
          <p class="row">
            <b class="data">{person.name}</b>
            <span class="small muted">{person.left ? "has left; the model speaks" : person.asked ? "is asked now" : "is not asked at present"}</span>
          </p>
          {person.token === null
            ? (
              <p class="row">
                <button class="primary" onClick={() => sit(person.name)}>{`Sit here as ${person.name}`}</button>
                <button onClick={() => act(invite(person.name, false))}>{`Invite somebody as ${person.name}`}</button>
              </p>
            )
            : <Address token={person.token} agent={person.name} withdraw={() => act(invite(person.name, true))} />}
        </div>
      ))}
      {!seats.driven && (
        <p class="row small">
          The run is not going on.
          <button class="primary" onClick={() => act(request("start", { action: "resume", run: seats.run }))}>Go on</button>
        </p>
      )}
    </section>
  );
}

function Address({ token, agent, withdraw }: { token: string; agent: string; withdraw: () => void }) {
  const address = addressOf(token);
  const [copied, setCopied] = useState("");
  const copy = () =>
    navigator.clipboard.writeText(address).then(() => setCopied("Copied."), () => setCopied("Copy it with the keyboard."));
  return (
    <div class="row">
      <input class="code seat-address" readOnly value={address} aria-label={`Invitation for ${agent}`} onFocus={(event) => event.currentTarget.select()} />
      <button onClick={() => void copy()}>Copy</button>
      <a class="button" href={address} target="_blank" rel="noopener noreferrer">Sit here</a>
      <button class="plain" onClick={withdraw}>Withdraw</button>
      <span class="small" role="status">{copied}</span>
    </div>
  );
}

function NewSeats({ seats }: { seats: Seats }) {
  const [chosen, choose] = useState<readonly string[]>([]);
  const [typed, setAt] = useState<string | null>(null);
  const at = typed ?? String(seats.status === "finished" ? 1 : seats.turns + 1);
  const [started, follow] = useStarted((run) => go(hrefOf(["runs", run], { seats: 1 })));
  const start = () => follow(request<StartedCommand>("start", { action: "sit", run: seats.run, at: Number(at), agents: chosen }));
  const toggle = (name: string) => choose(chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name]);
  const failed = typeof started === "string" ? started : started?.exit_code ? started.lines.join("\n") : null;
  return (
    <section class="stack" aria-label="New seats">
      <WhatAFork seats={seats} at={Number(at)} chosen={chosen} />
      <fieldset class="seat-people">
        <legend class="small">Take the seats of</legend>
        {seats.people.map(({ name }) => (
          <label key={name} class="row small"><input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} /><bdi class="data">{name}</bdi></label>
        ))}
      </fieldset>
      <div class="row small">
        <label>from turn <input type="number" min="1" max={seats.turns + 1} value={at} onInput={(event) => setAt(event.currentTarget.value)} /></label>
        <button class="primary" disabled={!chosen.length || isGoingOn(started)} onClick={start}>Start a run with these seats</button>
      </div>
      {isGoingOn(started) && <p class="small" role="status">Starting: the model is being loaded…</p>}
      {failed !== null && <p class="notice bad data small" role="alert">{failed}</p>}
    </section>
  );
}

/** What becomes of this run, and where the seats are: to be known before one sits. */
function WhatAFork({ seats, at, chosen }: { seats: Seats; at: number; chosen: readonly string[] }) {
  const speaks = chosen.length ? `in which people speak for ${listed(chosen)}` : "in which people speak for those whom you choose";
  const first = at > 1 ? `It has what was said before turn ${at}, and goes its own way from there.` : "It begins anew, from turn 1.";
  return (
    <p class="small data seat-fork">
      A seat is taken in a fork of this run, {speaks}. {first}{" "}
      {seats.driven
        ? "This run goes on beside it as before, without them, and nothing that is said in one comes into the other."
        : "This run stays as it is."}
    </p>
  );
}

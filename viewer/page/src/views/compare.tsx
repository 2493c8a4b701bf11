/** Two runs side by side: what they were made with, where they part, and every turn that differs. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Facts, Notice, Status, WithDocument } from "../components/parts";
import type { Turns } from "../documents";
import { counted, elapsed, inWords, lambda } from "../format";
import { goWith, hrefOf, usePlace } from "../router";
import { versionOf } from "../live";
import "../styles/compare.css";
import { useDocument } from "../use_document";
import { wordDiff } from "../word_diff";
import type { Comparison, Said, Setting, Side, TurnDifference } from "./compare_documents";
import { LongText, TurnDetails } from "./compare_turn";

/** Differences that are shown at a time. */
const PAGE = 40;
const SETTINGS_SHOWN = 8;
const KINDS = { dialogue: "a dialogue", group_chat: "a meeting", album_chat: "an album chat" };

export function CompareView({ a, b }: { a: string; b: string }) {
  const [opened] = useState(() => Date.now()); // a run may have gone on since they were compared last
  const compared = useDocument<Comparison>(`diff/${encodeURIComponent(a)}/${encodeURIComponent(b)}`, opened);
  return (
    <main class="view compare">
      <h1>Compare <span class="code data">{a}</span> and <span class="code data">{b}</span></h1>
      {compared.state === "failed" && <p><a href={hrefOf(["runs"])}>Choose two runs from the list</a></p>}
      <WithDocument of={compared}>{(compared) => <Shown compared={compared} />}</WithDocument>
    </main>
  );
}

function Shown({ compared }: { compared: Comparison }) {
  const { a, b, settings, turns, parting, summary } = compared;
  const mixed = a.kind !== b.kind && `A is ${KINDS[a.kind]}, B is ${KINDS[b.kind]}: only what both have is compared.`;
  return (
    <>
      <div class="sides">
        <About name="A" side={a} />
        <About name="B" side={b} />
      </div>
      <p class="small"><a href={hrefOf(["compare", b.run, a.run])}>Swap A and B</a></p>
      {mixed && <p class="muted">{mixed}</p>}
      {settings.length > 0 && <Settings settings={settings} />}
      {summary !== null && <Notice title="Nothing differs"><p class="data">{summary}.</p></Notice>}
      {summary === null && parting === null && (
        <Notice title="All turns are the same"><p>Their settings differ, but nothing in the turns does.</p></Notice>
      )}
      {turns.length > 0 && <Differences compared={compared} />}
    </>
  );
}

function About({ name, side }: { name: "A" | "B"; side: Side }) {
  return (
    <section class="card stack" aria-label={`Run ${name}`}>
      <p class="row">
        <strong class={`side-${name}`}>{name}</strong>
        <a class="code data" href={hrefOf(["runs", side.run])}>{side.run}</a>
        <Status status={side.status} />
        {side.label && <span class="data muted">{side.label}</span>}
      </p>
      <Facts
        of={[
          ["scenario", side.scenario],
          ["λ", lambda(side.removal_factor)],
          ["seed", side.seed],
          ["model", side.model],
          ["turns", side.turns],
          ...(side.order ? [["order", inWords(side.order)] as const] : []),
          ...(side.parent ? [["forked from", `${side.parent.run} at turn ${side.parent.turn}`] as const] : []),
        ]}
      />
    </section>
  );
}

function Settings({ settings }: { settings: readonly Setting[] }) {
  const [isAll, showAll] = useState(settings.length <= SETTINGS_SHOWN + 2);
  return (
    <section class="stack">
      <h2>Settings that differ</h2>
      <div class="scroller" tabIndex={0} role="region" aria-label="Settings that differ">
        <table class="settings">
          <thead><tr><th scope="col">setting</th><th scope="col">A</th><th scope="col">B</th></tr></thead>
          <tbody>
            {settings.slice(0, isAll ? undefined : SETTINGS_SHOWN).map(({ path, a, b }) => (
              <tr key={path.join("\n")}>
                <th scope="row" class="data code">{path.join(".")}</th>
                <td class="data"><LongText text={valueOf(a)} limit={200} /></td>
                <td class="data"><LongText text={valueOf(b)} limit={200} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {!isAll && <p><button onClick={() => showAll(true)}>Show all {settings.length} settings that differ</button></p>}
    </section>
  );
}

function valueOf(value: unknown): string {
  return value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value);
}

// --- the turns ------------------------------------------------------------------------------------------------------

/** Turns in a row that are the same, or one that differs. */
type Entry = { readonly same: readonly number[] } | { readonly difference: TurnDifference; readonly place: number };

function entriesOf({ turns, same }: Comparison): Entry[] {
  const entries: Entry[] = [];
  let next = 0;
  turns.forEach((difference, place) => {
    const before: number[] = [];
    while (next < same.length && same[next]! < difference.turn) before.push(same[next++]!);
    if (before.length) entries.push({ same: before });
    entries.push({ difference, place });
  });
  if (next < same.length) entries.push({ same: same.slice(next) });
  return entries;
}

function Differences({ compared }: { compared: Comparison }) {
  const { turns, first_divergence: parting } = compared;
  const { query } = usePlace();
  const wanted = query.turn === undefined ? parting!.turn : Number(query.turn);
  const place = Math.max(0, turns.findIndex(({ turn }) => turn === wanted));
  const isSame = compared.same.includes(wanted);
  const entries = useMemo(() => entriesOf(compared), [compared]);
  const [range, setRange] = useState<readonly [number, number]>(() => [firstShown(entries, place), place + PAGE]);
  const shown = entries.filter((entry, index) =>
    "place" in entry ? entry.place >= range[0] && entry.place < range[1] : isBeside(entries, index, range),
  );
  const moved = useRef(query.turn !== undefined);
  const choose = (to: number) => {
    const next = turns[Math.min(Math.max(to, 0), turns.length - 1)]!;
    moved.current = true;
    setRange(([from, end]) => [Math.min(from, to), Math.max(end, to + PAGE / 2)]);
    goWith({ turn: next.turn });
  };
  useKeys(() => choose(place + 1), () => choose(place - 1));
  return (
    <section class="stack" aria-label="Turns">
      <h2 class="data">{capitalised(compared.parting!)}</h2>
      <div class="row step">
        <button onClick={() => choose(place - 1)} disabled={place === 0}>Previous difference <kbd>p</kbd></button>
        <button onClick={() => choose(place + 1)} disabled={place === turns.length - 1}>Next difference <kbd>n</kbd></button>
        <span class="small muted" role="status">
          {isSame ? `turn ${wanted} is the same in both` : `difference ${place + 1} of ${turns.length}: ${nameOf(turns[place]!.turn)}`}
        </span>
        <span class="small legend">
          <del>words</del> only in A, <ins>words</ins> only in B
        </span>
      </div>
      {range[0] > 0 && <p><button onClick={() => setRange(([from, end]) => [Math.max(0, from - PAGE), end])}>Show earlier differences ({range[0]})</button></p>}
      {shown.map((entry) =>
        "same" in entry
          ? <SameTurns key={`same ${entry.same[0]}`} run={compared.a} turns={entry.same} silence_s={compared.a.silence_s} isOpen={entry.same.includes(wanted)} />
          : <Turn
              key={entry.difference.turn}
              compared={compared}
              difference={entry.difference}
              isChosen={entry.place === place && !isSame}
              isMoved={moved.current}
              choose={() => choose(entry.place)}
            />,
      )}
      {range[1] < turns.length && (
        <p><button onClick={() => setRange(([from, end]) => [from, end + PAGE])}>Show more differences ({turns.length - range[1]})</button></p>
      )}
    </section>
  );
}

/** Return the first difference to show: all of them where the chosen one is near the beginning. */
function firstShown(entries: readonly Entry[], place: number): number {
  return entries.length <= PAGE || place < PAGE / 2 ? 0 : place;
}

/** Return whether turns that are the same stand before a difference that is shown, or behind the last one. */
function isBeside(entries: readonly Entry[], index: number, [from, end]: readonly [number, number]): boolean {
  const next = entries[index + 1] ?? entries[index - 1];
  return next !== undefined && "place" in next && next.place >= from && next.place < end;
}

const capitalised = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const nameOf = (turn: number) => (turn ? `turn ${turn}` : "the preparation");

/** Go to the next and the previous difference by the keys n and p, from the moment they are shown, unless something is being typed. */
function useKeys(next: () => void, previous: () => void): void {
  const held = useRef({ next, previous });
  held.current = { next, previous };
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const isTyped = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
      if (isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "n") held.current.next();
      else if (event.key === "p") held.current.previous();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

/** Turns that are the same in both, folded. */
function SameTurns({ run, turns, silence_s, isOpen }: { run: Side; turns: readonly number[]; silence_s: number; isOpen: boolean }) {
  const [opened, open] = useState(isOpen);
  const [first, last] = [turns[0]!, turns[turns.length - 1]!];
  return (
    <details class="same" open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>{turns.length === 1 ? `Turn ${first} is the same` : `Turns ${first} to ${last} are the same`}</summary>
      {opened && <SharedTexts run={run} first={first} last={last} silence_s={silence_s} />}
    </details>
  );
}

function SharedTexts({ run: side, first, last, silence_s }: { run: Side; first: number; last: number; silence_s: number }) {
  const { run } = side;
  const read = useDocument<Turns>(`runs/${encodeURIComponent(run)}/turns`, versionOf(side));
  const [shown, show] = useState(100);
  return (
    <WithDocument of={read}>
      {({ turns }) => {
        const shared = turns.filter(({ turn }) => turn >= first && turn <= last);
        return (
          <>
            <ol class="stack shared">
              {shared.slice(0, shown).map((turn, index) => (
                <li key={`${turn.turn} ${index}`}>
                  <a class="number" href={hrefOf(["runs", run], { turn: turn.turn })} aria-label={`Turn ${turn.turn} of A`}>{turn.turn}</a>{" "}
                  <Utterance said={turn} silence_s={silence_s}><LongText text={turn.text} /></Utterance>
                </li>
              ))}
            </ol>
            {shared.length > shown && <button onClick={() => show(shown + 200)}>Show more of {counted(shared.length, "turn")}</button>}
          </>
        );
      }}
    </WithDocument>
  );
}

function Turn({ compared, difference, isChosen, isMoved, choose }: {
  compared: Comparison;
  difference: TurnDifference;
  isChosen: boolean;
  isMoved: boolean;
  choose: () => void;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    if (!isChosen || !heading.current) return;
    const { top } = heading.current.getBoundingClientRect();
    if (isMoved) {
      heading.current.focus({ preventScroll: true });
      if (top < 60 || top > innerHeight * 0.5) heading.current.scrollIntoView({ block: "start" });
    } else if (top > innerHeight * 0.75) heading.current.scrollIntoView({ block: "start" });
  }, [isChosen, isMoved]);
  const { turn, only_in, differs, a, b } = difference;
  const pieces = useMemo(() => wordDiff(a?.text ?? b?.text ?? "", b?.text ?? a?.text ?? ""), [a?.text, b?.text]);
  return (
    <section class={`turn-difference stack ${isChosen ? "chosen" : ""}`} data-turn={turn}>
      <div class="row">
        <h3 ref={heading} tabIndex={-1}>{capitalised(nameOf(turn))}</h3>
        {only_in && <span class="tag">only {only_in.toUpperCase()} goes on</span>}
        {differs.map((aspect) => <span key={aspect} class="tag">{inWords(aspect)}</span>)}
      </div>
      {turn > 0 && (
        <div class="sides">
          <SaidBy name="A" run={compared.a} turn={turn} said={a ?? null} pieces={pieces[0]} />
          <SaidBy name="B" run={compared.b} turn={turn} said={b ?? null} pieces={pieces[1]} />
        </div>
      )}
      {isChosen
        ? <TurnDetails compared={compared} difference={difference} />
        : only_in === null && <p><button class="plain small" onClick={choose}>What differs in {nameOf(turn)}</button></p>}
    </section>
  );
}

function SaidBy({ name, run, turn, said, pieces }: {
  name: "A" | "B";
  run: Side;
  turn: number;
  said: Said | null;
  pieces: ReturnType<typeof wordDiff>[0];
}) {
  const isSame = pieces.every(({ isShared }) => isShared);
  return (
    <div class="said">
      <strong class={`side-${name}`} aria-label={`Run ${name}`}>{name}</strong>
      {said === null && <p class="muted">Run {name} has no turn {turn}.</p>}
      {said !== null && (
        <div class="stack">
          <Utterance said={said} silence_s={run.silence_s}>
            {isSame || said.text.length > LONG
              ? <LongText text={said.text} />
              : pieces.map(({ text, isShared }, index) =>
                  isShared ? <span key={index}>{text}</span> : name === "A" ? <del key={index}>{text}</del> : <ins key={index}>{text}</ins>,
                )}
          </Utterance>
          <a class="small" href={hrefOf(["runs", run.run], { turn })}>{said.speaker === null ? `Why nobody spoke in ${name}` : `Why ${name} said that`}</a>
        </div>
      )}
    </div>
  );
}

const LONG = 20_000;

function Utterance({ said, silence_s, children }: { said: Said; silence_s: number; children: ComponentChildren }) {
  return (
    <p class="utterance">
      <span class="number muted small">{elapsed(said.sim_time_s)}</span>{" "}
      {said.speaker === null
        ? <em class="muted">{silence_s} seconds of silence</em>
        : <><strong class="data">{said.speaker}:</strong> <span class="words data">{children}</span></>}
    </p>
  );
}

/** The turns of two runs that differ, in the order of their numbers, with those between them folded. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { WithDocument } from "../components/parts";
import type { Turns } from "../documents";
import { counted, elapsed, inWords } from "../format";
import { versionOf } from "../live";
import { goWith, hrefOf, usePlace } from "../router";
import { useDocument } from "../use_document";
import { wordDiff } from "../word_diff";
import type { Comparison, Said, Side, TurnDifference, TurnDifferences } from "./compare_documents";
import { type Followed, isGoing } from "./compare_follow";
import { LongText, TurnDetails } from "./compare_turn";

/** Turns that may differ: so many are shown at a time, and read at once. */
const [PAGE, AT_ONCE] = [40, 20];

/** Turns in a row that are the same, or some that may differ, which are read together. */
type Entry = { readonly same: readonly [number, number] } | { readonly differing: readonly number[]; readonly place: number };

/** Return what is shown from one place among the differing turns to another, with the turns between them that are the same. */
function entriesOf(differing: readonly number[], last: number, [from, end]: readonly [number, number]): Entry[] {
  const entries: Entry[] = [];
  let next = from === 0 ? 1 : differing[from - 1]! + 1;
  let group: number[] = [];
  const close = (place: number) => {
    if (group.length) entries.push({ differing: group, place: place - group.length });
    group = [];
  };
  for (let place = from; place < Math.min(end, differing.length); place++) {
    const turn = differing[place]!;
    if (turn > next) {
      close(place);
      entries.push({ same: [next, turn - 1] });
    }
    // Groups begin at fixed places, so that one that was read need not be read again as the runs go on.
    if (place % AT_ONCE === 0) close(place);
    group.push(turn);
    next = turn + 1;
  }
  close(Math.min(end, differing.length));
  if (end >= differing.length && next <= last) entries.push({ same: [next, last] });
  return entries;
}

/** Return the turns that differ and the last one that is shown: while a run goes on, as far as it is, and the next. */
function turnsToShow({ a, b, differing }: Comparison, followed: Followed): [readonly number[], number] {
  const [both, last] = [Math.min(a.turns, b.turns), Math.max(a.turns, b.turns)];
  if (both === last || !isGoing(a.turns < b.turns ? followed.a : followed.b)) return [differing, last];
  return [differing.filter((turn) => turn <= both + 1), both + 1];
}

interface DifferencesProps {
  readonly compared: Comparison;
  readonly followed: Followed;
  /** Whether no turn that both have differs yet. */
  readonly isWaiting: boolean;
}

export function Differences({ compared, followed, isWaiting }: DifferencesProps) {
  const { first_divergence: parting } = compared;
  const [differing, last] = useMemo(() => turnsToShow(compared, followed), [compared, followed.a, followed.b]);
  const { query } = usePlace();
  const wanted = query.turn === undefined ? parting!.turn : Number(query.turn);
  const place = placeOf(differing, wanted);
  const isSame = differing[place] !== wanted;
  const [asked, setRange] = useState<readonly [number, number] | null>(null);
  const range = asked ?? [differing.length <= PAGE || place < PAGE / 2 ? 0 : place, place + PAGE];
  const entries = useMemo(() => entriesOf(differing, last, range), [differing, last, ...range]);
  const moved = useRef(query.turn !== undefined);
  const choose = (to: number) => {
    const next = Math.min(Math.max(to, 0), differing.length - 1);
    moved.current = true;
    setRange([Math.min(range[0], next), Math.max(range[1], next + PAGE / 2)]);
    goWith({ turn: differing[next]! });
  };
  useKeys(() => choose(place + 1), () => choose(place - 1));
  return (
    <section class="stack" aria-label="Turns">
      {!isWaiting && <h2 class="data">{capitalised(compared.parting!)}</h2>}
      {!isWaiting && <div class="row step">
        <button onClick={() => choose(place - 1)} disabled={place === 0}>Previous difference <kbd>p</kbd></button>
        <button onClick={() => choose(place + 1)} disabled={place === differing.length - 1}>Next difference <kbd>n</kbd></button>
        <span class="small muted" role="status">
          {isSame ? `turn ${wanted} is the same in both` : `difference ${place + 1} of ${differing.length}: ${nameOf(differing[place]!)}`}
        </span>
        <span class="small legend">
          <del>words</del> only in A, <ins>words</ins> only in B
        </span>
      </div>}
      {range[0] > 0 && <p><button onClick={() => setRange([Math.max(0, range[0] - PAGE), range[1]])}>Show earlier differences ({range[0]})</button></p>}
      {entries.map((entry) =>
        "same" in entry
          ? <SameTurns key={`same ${entry.same[0]}`} run={compared.a} turns={entry.same} silence_s={compared.a.silence_s} isOpen={wanted >= entry.same[0] && wanted <= entry.same[1]} />
          : <TurnsRead
              key={`from ${entry.differing[0]}`}
              compared={compared}
              numbers={entry.differing}
              version={versionOfTurns(compared, entry.differing)}
              chosen={isSame ? null : wanted}
              isMoved={moved.current}
              going={followed}
              choose={(turn) => choose(placeOf(differing, turn))}
            />,
      )}
      {range[1] < differing.length && (
        <p><button onClick={() => setRange([range[0], range[1] + PAGE])}>Show more differences ({differing.length - range[1]})</button></p>
      )}
    </section>
  );
}

/** Return the place of a turn among those that differ; of the next one where it is the same. */
function placeOf(differing: readonly number[], turn: number): number {
  const found = differing.findIndex((other) => other >= turn);
  return found < 0 ? differing.length - 1 : found;
}

/** Return what turns were read for: another version as soon as a run that goes on has more of them. */
function versionOfTurns({ a, b }: Comparison, numbers: readonly number[]): string {
  const [first, last] = [numbers[0]!, numbers.at(-1)!];
  const of = (turns: number) => (turns < first ? "none" : turns >= last ? "all" : `to ${turns}`);
  return `${of(a.turns)}, ${of(b.turns)}`;
}

interface TurnsReadProps {
  readonly compared: Comparison;
  readonly numbers: readonly number[];
  readonly version: string;
  readonly chosen: number | null;
  readonly isMoved: boolean;
  readonly going: Followed;
  readonly choose: (turn: number) => void;
}

/** Turns that may differ, once they are read. */
function TurnsRead({ compared, numbers, version, chosen, isMoved, going, choose }: TurnsReadProps) {
  const { a, b } = compared;
  const path = `diff/${encodeURIComponent(a.run)}/${encodeURIComponent(b.run)}/turns?of=${numbers.join(",")}`;
  const read = useDocument<TurnDifferences>(path, version);
  const last = useRef(read);
  if (read.state !== "loading") last.current = read; // as turns are added, those that stand there stay
  return (
    <WithDocument of={last.current}>
      {({ turns }) => turns.map((difference) => (
        <Turn
          key={difference.turn}
          compared={compared}
          difference={difference}
          isChosen={difference.turn === chosen}
          isMoved={isMoved}
          going={going}
          choose={() => choose(difference.turn)}
        />
      ))}
    </WithDocument>
  );
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
function SameTurns({ run, turns, silence_s, isOpen }: { run: Side; turns: readonly [number, number]; silence_s: number; isOpen: boolean }) {
  const [opened, open] = useState(isOpen);
  const [first, last] = turns;
  return (
    <details class="same" open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>{first === last ? `Turn ${first} is the same` : `Turns ${first} to ${last} are the same`}</summary>
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

function Turn({ compared, difference, isChosen, isMoved, going, choose }: {
  compared: Comparison;
  difference: TurnDifference;
  isChosen: boolean;
  isMoved: boolean;
  going: Followed;
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
        {only_in && !isGoing(going[only_in === "a" ? "b" : "a"]) && <span class="tag">only {only_in.toUpperCase()} goes on</span>}
        {differs.map((aspect) => <span key={aspect} class="tag">{inWords(aspect)}</span>)}
      </div>
      {turn > 0 && (
        <div class="sides">
          <SaidBy name="A" run={compared.a} turn={turn} said={a ?? null} pieces={pieces[0]} isGoing={isGoing(going.a)} />
          <SaidBy name="B" run={compared.b} turn={turn} said={b ?? null} pieces={pieces[1]} isGoing={isGoing(going.b)} />
        </div>
      )}
      {isChosen
        ? <TurnDetails compared={compared} difference={difference} />
        : only_in === null && <p><button class="plain small" onClick={choose}>What differs in {nameOf(turn)}</button></p>}
    </section>
  );
}

function SaidBy({ name, run, turn, said, pieces, isGoing }: {
  name: "A" | "B";
  run: Side;
  turn: number;
  said: Said | null;
  pieces: ReturnType<typeof wordDiff>[0];
  isGoing: boolean;
}) {
  const isSame = pieces.every(({ isShared }) => isShared);
  return (
    <div class="said">
      <strong class={`side-${name}`} aria-label={`Run ${name}`}>{name}</strong>
      {said === null && <p class="muted">{isGoing ? `${name} is not here yet…` : `Run ${name} has no turn ${turn}.`}</p>}
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

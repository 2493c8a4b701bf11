/** The turns of a run as a list, of which only what is in view is drawn. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Speaker } from "../../components/speakers";
import { Spoken, type SpokenPart } from "../../components/spoken";
import { Thumbnail } from "../../components/thumbnail";
import { useVirtualRows } from "../../components/virtual";
import { counted, elapsed, lambda, number } from "../../format";
import { goWith } from "../../router";
import type { ConversationTurn, RunInFull, TurnThought } from "./documents";
import { highlighted } from "./find";

/** Letters of a text that stand in the list; the whole stands beside it. */
const SHOWN = 2000;

interface TranscriptProps {
  readonly run: RunInFull;
  readonly turns: readonly ConversationTurn[];
  readonly chosen: number;
  readonly choose: (index: number) => void;
  /** Called where a turn is chosen to be looked at, not on the way to another. */
  readonly open: () => void;
  readonly thoughts: Readonly<Record<string, readonly TurnThought[]>> | null;
  readonly term: string;
  readonly isFollowed: boolean;
}

export function Transcript({ run, turns, chosen, choose, open, thoughts, term, isFollowed }: TranscriptProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualRows({
    count: turns.length,
    element: () => scroller.current,
    estimate: (index) => 34 + 25 * Math.ceil(Math.min(SHOWN, turns[index]!.text.length) / 70) + (turns[index]!.exchange ? 75 + (turns[index]!.exchange!.picture.file ? 30 : 0) : 0),
    keyOf: (index) => turns[index]!.turn,
  });
  const shown = rows.getVirtualItems();
  const wasOpen = useRef(false);
  useLayoutEffect(() => {
    if (chosen >= 0 && turns.length) rows.scrollToIndex(chosen, { align: wasOpen.current ? "auto" : "center" });
    wasOpen.current = true;
  }, [turns[chosen]?.turn, thoughts !== null]);

  const last = shown.at(-1)?.index ?? -1;
  const news = useNews(turns, run.turns, last, () => rows.scrollToIndex(turns.length - 1, { align: "end" }), isFollowed);

  const onClick = (event: MouseEvent) => {
    const row = (event.target as Element).closest<HTMLElement>("[data-index]");
    if (!row || String(getSelection() ?? "")) return; // whoever selects words does not choose a turn
    choose(Number(row.dataset.index));
    open();
  };
  return (
    <div class="transcript">
      <div
        class="turns"
        ref={scroller}
        role="listbox"
        tabIndex={0}
        aria-label="Transcript"
        aria-activedescendant={shown.some((row) => row.index === chosen) ? optionId(turns[chosen]!) : undefined}
        onClick={onClick}
        onKeyDown={(event) => event.key === "Enter" && open()}
      >
        <div role="presentation" class="turns-height" style={{ height: `${rows.getTotalSize()}px` }}>
          {shown.map(({ index, start }) => {
            const turn = turns[index];
            return turn && (
              <div
                key={turn.turn}
                id={optionId(turn)}
                ref={rows.measureElement}
                role="option"
                class={`turn ${turn.speaker === null ? "silence" : ""}`}
                data-index={index}
                aria-selected={index === chosen}
                aria-posinset={index + 1}
                aria-setsize={turns.length}
                style={{ transform: `translateY(${start}px)` }}
              >
                <Row run={run} turn={turn} thoughts={thoughts?.[turn.turn] ?? null} term={term} />
              </div>
            );
          })}
        </div>
      </div>
      {news}
    </div>
  );
}

function optionId(turn: ConversationTurn): string {
  return `turn-${turn.turn}`;
}

function Row({
  run,
  turn,
  thoughts,
  term,
}: {
  run: RunInFull;
  turn: ConversationTurn;
  thoughts: readonly TurnThought[] | null;
  term: string;
}) {
  return (
    <>
      <span class="turn-place number">
        <b>{turn.turn || "–"}</b>
        <span class="muted">{elapsed(turn.sim_time_s)}</span>
      </span>
      <div class="turn-said">
        {turn.speaker === null ? (
          <span class="muted">{number(turn.duration_s, 0)} seconds of silence</span>
        ) : (
          <Said run={run} speaker={turn.speaker} text={turn.text} parts={turn.spoken} term={term} />
        )}
        {turn.exchange && (
          <>
            <Said run={run} speaker={turn.exchange.answerer} text={turn.exchange.answer} parts={turn.exchange.spoken} term={term} />
            <p class="small muted about-picture">
              <Thumbnail run={run.run} picture={turn.exchange.picture} />
              <span>
                about the picture “<bdi>{turn.exchange.picture.caption}</bdi>”
                {turn.exchange.passed ? <>, which <bdi>{turn.exchange.answerer}</bdi> keeps</> : ""}
              </span>
            </p>
          </>
        )}
        <TurnMarks run={run} turn={turn} />
        {thoughts && (
          <ul class="thoughts">
            {thoughts.map((thought) => (
              <li key={thought.agent}>
                <Speaker people={run.people} name={thought.agent} />{" "}
                <span class="muted small">{thought.won ? "got the floor, thought:" : "wanted it, thought:"}</span>{" "}
                <span class="words data">{thought.thought || "–"}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

interface SaidProps {
  readonly run: RunInFull;
  readonly speaker: string;
  readonly text: string;
  readonly parts: readonly SpokenPart[] | undefined;
  readonly term: string;
}

function Said({ run, speaker, text, parts, term }: SaidProps) {
  const isLong = text.length > SHOWN + 200;
  return (
    <p class="said">
      <Speaker people={run.people} name={speaker} />{" "}
      <span class="words data"><Spoken text={text} parts={parts} most={isLong ? SHOWN : Infinity} shown={(text) => highlighted(text, term)} /></span>
      {isLong && <span class="muted small"> … {text.length.toLocaleString("en")} characters in all; open the turn to read them</span>}
    </p>
  );
}

/** What is to be known of how a turn came about, each in a word with its number. */
function TurnMarks({ run, turn }: { run: RunInFull; turn: ConversationTurn }) {
  const marks: [string, ComponentChildren][] = [];
  const raced = turn.bids.filter((bid) => bid.willing).length;
  if (turn.turn === 0) marks.push(["opening", "how the meeting opened"]);
  if (turn.removed) marks.push(["removed", <>✗ {turn.removed} of {turn.removable} removed</>]);
  const isOther = turn.removal_factor !== null && turn.removal_factor !== run.parameters.removal_factor;
  if (isOther) marks.push(["lambda", <>λ {lambda(turn.removal_factor)}</>]);
  if (turn.rollbacks) marks.push(["rollbacks", <>↺ rolled back {turn.rollbacks}×</>]);
  if (turn.bids.length) marks.push(["bids", <>{raced} of {turn.bids.length} wanted the floor</>]);
  if (turn.by_hand) marks.push(["hand", "✎ written by hand"]);
  if (turn.edited) marks.push(["hand", "✎ rewritten by a person"]);
  if (turn.ended) marks.push(["ended", "∎ ended the conversation"]);
  if (!marks.length) return null;
  return <p class="turn-marks">{marks.map(([key, mark]) => <span key={key} class={`turn-mark ${key}`}>{mark}</span>)}</p>;
}

/** Milliseconds between two reports to a screen reader. */
const REPORTED_EVERY = 5000;

/**
 * Return the way to turns that came while something else was read; where they are followed, they are kept in view. Those that
 * were stored as the run was opened are no news, also where they are read after the first ones.
 */
function useNews(turns: readonly ConversationTurn[], stored: number, lastShown: number, toEnd: () => void, isFollowed: boolean): ComponentChildren {
  const count = turns.length;
  const known = useRef(Math.max(count, stored + (turns[0]?.turn === 0 ? 1 : 0))).current;
  const [seen, see] = useState(known);
  const [report, setReport] = useState("");
  const reported = useRef({ at: 0, count: known });
  useEffect(() => {
    if (lastShown >= count - 1) see((seen) => Math.max(seen, count));
  }, [lastShown, count]);
  useLayoutEffect(() => {
    if (isFollowed && count) toEnd();
  }, [isFollowed, count]);
  useEffect(() => {
    const came = count - reported.current.count;
    if (came <= 0) return;
    const wait = Math.max(0, reported.current.at + REPORTED_EVERY - Date.now());
    const timer = setTimeout(() => {
      reported.current = { at: Date.now(), count };
      setReport(`${counted(came, "new turn")}; the last is turn ${turns.at(-1)!.turn}`);
    }, wait);
    return () => clearTimeout(timer);
  }, [count]);
  const unseen = Math.max(0, count - seen);
  return (
    <>
      <p class="visually-hidden" aria-live="polite">{report}</p>
      {unseen > 0 && !isFollowed && (
        <button class="pill" onClick={toEnd}>{counted(unseen, "new turn")} <span aria-hidden="true">↓</span></button>
      )}
    </>
  );
}

/** Whether new turns are kept in view. */
export function FollowButton({ isFollowed, isOver }: { isFollowed: boolean; isOver: boolean }) {
  return <button aria-pressed={isFollowed} disabled={isOver} onClick={() => goWith({ follow: isFollowed ? null : 1 })}>Follow</button>;
}

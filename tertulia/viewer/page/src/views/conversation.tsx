/** A conversation: its timeline, its transcript, and beside them how the chosen turn came about. */

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Notice, WithDocument } from "../components/parts";
import { Speaker } from "../components/speakers";
import { useIsNarrow } from "../components/width";
import { goWith, hrefOf, usePlace } from "../router";
import { source } from "../source";
import { type RunProgress, useTurns } from "../live";
import "../styles/conversation.css";
import { useDocument } from "../use_document";
import { type ConversationTurn, type RunInFull, runPath, type Thoughts } from "./conversation/documents";
import { FindField } from "./conversation/find";
import { SPEEDS, usePlayback, useTurnKeys } from "./conversation/playback";
import { Timeline, WhoCame } from "./conversation/timeline";
import { FollowButton, Transcript } from "./conversation/transcript";
import { HeldPanel, PauseButton, type PauseControl, usePause } from "./held_line";
import { TurnPane } from "./turn";

export function ConversationView({ run, live }: { run: RunInFull; live: RunProgress | null }) {
  const { query } = usePlace();
  const turns = useTurns(run.run, live, Number(query.turn ?? 0));
  const isOver = (live?.status ?? run.status) === "finished";
  const pausing = usePause(run, isOver);
  return (
    <WithDocument of={turns}>
      {(turns) =>
        turns.length ? (
          <Conversation run={run} turns={turns} stored={source.isFile ? 0 : Math.max(run.turns, live?.turns ?? 0)} isOver={isOver} pausing={pausing} />
        ) : (
          <>
            {pausing && <p class="row"><PauseButton control={pausing} /></p>}
            {pausing && <HeldPanel run={run} control={pausing} />}
            <Empty run={run} status={live?.status ?? run.status} />
          </>
        )
      }
    </WithDocument>
  );
}

function Empty({ run, status }: { run: RunInFull; status: string }) {
  if (status === "running" && !source.isFile) {
    return <p class="notice waiting" role="status"><span class="pulse" aria-hidden="true" /> The first line is awaited. It is shown here as soon as it is said.</p>;
  }
  return <Notice title="No turn is stored"><p>{`Run ${run.run} is ${status}, without a turn.`}</p></Notice>;
}

interface ConversationProps {
  readonly run: RunInFull;
  readonly turns: readonly ConversationTurn[];
  /** The last turn that is stored, which may not be read yet. */
  readonly stored: number;
  readonly isOver: boolean;
  readonly pausing: PauseControl | null;
}

function Conversation({ run, turns, stored, isOver, pausing }: ConversationProps) {
  const { query } = usePlace();
  const isFollowed = query.follow === "1" && !source.isFile;
  const first = isFollowed ? turns.at(-1)! : (turns.find((turn) => turn.turn > 0) ?? turns[0]!);
  const asked = query.turn === undefined ? first.turn : Number(query.turn);
  const index = useMemo(() => indexOf(turns, asked), [turns, asked]);
  const held = useRef(turns);
  held.current = turns;
  const choose = useCallback((to: number) => goWith({ turn: turnAt(held.current, to) }), []);
  const read = turns.at(-1)!.turn;
  const last = Math.max(stored, read);
  const count = turns.length + last - read;
  const place = index + Math.max(0, Math.min(asked, last) - read || 0);
  const speed = SPEEDS.find((speed) => String(speed) === query.speed) ?? 1;
  const playback = usePlayback(turns, index, speed, choose);
  const hasClock = run.kind !== "album_chat";
  useTurnKeys(count, place, choose, hasClock ? playback.toggle : null);

  const hasThoughts = run.kind === "group_chat";
  const areThoughtsShown = hasThoughts && query.thoughts === "1";
  const thoughts = useDocument<Thoughts>(areThoughtsShown ? runPath(run.run, "thoughts") : null, `${turns.length}`);
  const wasGoingOn = useRef(!isOver && !source.isFile); // the bar keeps its height when the run ends under a reader
  const pane = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  // Where both stand below one another, whoever comes for a turn finds its answer, and the transcript one step away.
  const [isFolded, fold] = useState(query.turn !== undefined);
  const show = (isTurn: boolean) => {
    fold(isTurn);
    requestAnimationFrame(() => lead(isTurn ? pane.current : (list.current?.querySelector<HTMLElement>("[role=listbox]") ?? null)));
  };
  const settled = useSettled(asked);
  const isNarrow = useIsNarrow();
  const current = useMemo(() => ({ ...run, turns: last }), [run, last]);

  return (
    <div class="conversation">
      {pausing && <HeldPanel run={run} control={pausing} />}
      {hasClock && <Timeline run={run} turns={turns} chosen={index} range={{ place, count, last }} choose={choose} playback={playback} />}
      <div class="sides">
        <div class={`side said-side ${isFolded ? "folded" : ""}`} ref={list}>
          <div class="row side-bar">
            <FindField turns={turns} term={query.find ?? ""} chosen={index} choose={choose} />
            {hasThoughts && (
              <button aria-pressed={areThoughtsShown} onClick={() => goWith({ thoughts: areThoughtsShown ? null : 1 })}>Thoughts</button>
            )}
            {wasGoingOn.current && <FollowButton isFollowed={isFollowed} isOver={isOver} />}
            {pausing && <PauseButton control={pausing} />}
            <span class="muted small keys">
              <kbd>←</kbd> <kbd>→</kbd> turn{hasClock && <>, <kbd>Space</kbd> plays</>}
            </span>
            {areThoughtsShown && thoughts.state === "failed" && <span class="small data">{thoughts.error}</span>}
          </div>
          {hasClock && isNarrow && <WhoCame run={run} turns={turns} />}
          {!hasClock && (
            <p class="small muted">
              Pairs meet at the same time, round by round, so there is no timeline; <a href={hrefOf(["runs", run.run, "album"])}>the album</a> shows
              who has seen which picture.
            </p>
          )}
          <Transcript
            key={`folded ${isFolded}`}
            run={run}
            turns={turns}
            chosen={index}
            choose={choose}
            open={() => isStacked() && show(true)}
            thoughts={thoughts.state === "ready" ? thoughts.value.turns : null}
            term={query.find ?? ""}
            isFollowed={isFollowed}
          />
        </div>
        <div class="side turn-side" ref={pane} tabIndex={-1} role="region" aria-label="How the chosen turn came about">
          <button class="plain back small" onClick={() => show(false)}>
            ↑ Back to the transcript
          </button>
          <ChosenTurn run={current} turns={turns} turn={settled} />
        </div>
      </div>
    </div>
  );
}

/** How the chosen turn came about; the opening of a meeting was written with it. */
function ChosenTurn({ run, turns, turn }: { run: RunInFull; turns: readonly ConversationTurn[]; turn: number }) {
  const found = turns.find((row) => row.turn === turn);
  if (!found && !(turn > turns.at(-1)!.turn && turn <= run.turns)) {
    return (
      <Notice title={`There is no turn ${Number.isNaN(turn) ? "of that number" : turn}`}>
        <p>This run has turns {turns[0]!.turn} to {run.turns}.</p>
      </Notice>
    );
  }
  if (turn > 0) return <TurnPane run={run} turn={turn} />;
  return (
    <section class="stack opening-pane">
      <h2>How the meeting opened</h2>
      <p>{found?.speaker && <Speaker people={run.people} name={found.speaker} />} <span class="words data">{found?.text}</span></p>
      <p class="small muted">The scenario gives these words; no model wrote them.</p>
      <p><a href={hrefOf(["runs", run.run, "minds"])}>Who took part, with which traits and goals</a></p>
    </section>
  );
}

/** Return the number of the turn at a place; those that are not read yet are numbered on from the last one that is. */
function turnAt(turns: readonly ConversationTurn[], place: number): number | null {
  const beyond = place - turns.length + 1;
  return beyond > 0 ? turns.at(-1)!.turn + beyond : (turns[place]?.turn ?? null);
}

/** Return the index of a turn, of the last one before it where there is none of that number, and of the first otherwise. */
function indexOf(turns: readonly ConversationTurn[], turn: number): number {
  const index = turns.findIndex((row) => row.turn === turn);
  return index >= 0 ? index : Math.max(0, turns.findLastIndex((row) => row.turn <= turn));
}

/** Milliseconds that a turn is chosen before it is shown, where turns are passed quickly. */
const SETTLED_MS = 180;

/** Return a value; while it changes fast, only the first and the last, as each has a document of its own. */
function useSettled(value: number): number {
  const [settled, settle] = useState(value);
  const changed = useRef(0);
  useEffect(() => {
    const sinceLast = performance.now() - changed.current;
    changed.current = performance.now();
    if (sinceLast > SETTLED_MS) {
      settle(value);
      return;
    }
    const timer = setTimeout(() => settle(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** Whether transcript and turn stand below one another, as the stylesheet has it. */
function isStacked(): boolean {
  return !matchMedia("(min-width: 1000px) and (min-height: 660px)").matches;
}

/** Lead a reader to a part of the page, with what they see and with the keyboard. */
function lead(to: HTMLElement | null): void {
  to?.scrollIntoView({ block: "start" });
  to?.focus({ preventScroll: true });
}

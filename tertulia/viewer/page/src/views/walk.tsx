/** A walk through the shipped example, step by step, beside what it speaks about. */

import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, type Place, placeOf, usePlace } from "../router";
import { source } from "../source";
import "../styles/walk.css";
import { useDocument } from "../use_document";
import { placeBeside } from "./walk_place";
import { type ExampleRun, type Step, stepsThrough } from "./walk_steps";

/** Where the reader left the walk: the number of a step, or `closed`. */
const KEY = "tertulia-walk";
/** How long what a step speaks about may take to appear, in milliseconds. */
const APPEARS_WITHIN = 60_000;

/** Return the card of the walk at its step's place; elsewhere the button for the head of the page that leads back to it. */
export function useWalk(): { readonly card: VNode | null; readonly again: VNode | null } {
  const store = useDocument<{ is_example?: boolean }>(source.isFile ? null : "store");
  const isExample = store.state === "ready" && store.value.is_example === true;
  const runs = useDocument<{ runs: readonly ExampleRun[] }>(isExample ? "runs" : null);
  const steps = useMemo(() => (isExample && runs.state === "ready" ? stepsThrough(runs.value.runs) : []), [isExample, runs]);
  const [kept, keep] = useKept();
  const place = usePlace();
  if (!steps.length) return { card: null, again: null };
  const show = (next: number) => {
    keep(String(next));
    go(steps[next]!.place);
  };
  if (kept === "closed") return { card: null, again: <button onClick={() => show(0)}>Guided walk</button> };
  const number = Math.min(Math.max(Number(kept) || 0, 0), steps.length - 1);
  if (!isAt(place, placeOf(steps[number]!.place))) {
    return { card: null, again: <button onClick={() => show(number)}>Guided walk{number > 0 && `: ${number + 1} of ${steps.length}`}</button> };
  }
  return { card: <Card step={steps[number]!} number={number} of={steps.length} show={show} close={() => keep("closed")} />, again: null };
}

/** Whether a place shows what a step speaks about, whatever pane of it. */
export function isAt({ path, query }: Place, step: Place): boolean {
  return (path.join("/") || "runs") === step.path.join("/") && (step.query.turn === undefined || query.turn === step.query.turn);
}

interface CardProps {
  readonly step: Step;
  /** From 0. */
  readonly number: number;
  readonly of: number;
  readonly show: (number: number) => void;
  readonly close: () => void;
}

function Card({ step, number, of, show, close }: CardProps) {
  const card = useRef<HTMLElement>(null);
  useEffect(() => marking(step, card.current!), [step]);
  useLayoutEffect(() => {
    const leave = (event: KeyboardEvent) => event.key === "Escape" && close();
    addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  }, [close]);
  const isLast = number === of - 1;
  return (
    <aside class="guide card stack" ref={card} aria-label="Guided walk">
      <div role="status" class="stack">
        <h2><span class="muted number">{number + 1} of {of}</span> {step.title}</h2>
        <p>{step.text}</p>
      </div>
      <div class="row">
        <button disabled={number === 0} onClick={() => show(number - 1)}>Back</button>
        <button class="primary" onClick={() => (isLast ? close() : show(number + 1))}>{isLast ? "Done" : "Next"}</button>
        <span style={{ flex: 1 }} />
        {!isLast && <button class="plain" onClick={close}>Close</button>}
      </div>
    </aside>
  );
}

/** What a reader does where they look for themselves: from then on nothing is moved under them. */
const TAKES_OVER = ["wheel", "touchmove", "pointerdown", "keydown"] as const;

/**
 * Mark what the first selector finds that leaves room for the card, else the last, once it is there; have it in view, and
 * put the card beside it, until the reader goes elsewhere; returns what takes the mark away.
 */
function marking({ marked: selectors, besides }: Step, card: HTMLElement): () => void {
  let marked: HTMLElement | null = null;
  let isLeft = false;
  const rest = () => (besides === undefined ? null : document.querySelector<HTMLElement>(besides));
  const place = () => marked?.isConnected && placeBeside(card, marked, rest());
  const sizes = new ResizeObserver(() => isLeft || place());
  const mark = () => {
    if (!marked?.isConnected) {
      const found = selectors.map((selector) => document.querySelector<HTMLElement>(selector)).filter((element) => element !== null);
      const fits = (element: HTMLElement) => (showTop(element), placeBeside(card, element, rest()));
      marked = (isLeft ? undefined : found.find(fits)) ?? found.at(-1) ?? null;
      marked?.setAttribute("data-walk", "");
      if (marked) sizes.observe(marked);
    }
    if (!isLeft) place();
  };
  const unmark = () => {
    if (marked) sizes.unobserve(marked);
    marked?.removeAttribute("data-walk");
    marked?.style.removeProperty("scroll-margin-block");
    marked = null;
  };
  const again = () => {
    if (isLeft) return;
    unmark(); // in a window of another size, another one may leave room
    mark();
  };
  const leave = (event: Event) => {
    if (!card.contains(event.target as Node)) isLeft = true;
  };
  for (const name of TAKES_OVER) addEventListener(name, leave, { passive: true });
  addEventListener("resize", again);
  const observer = new MutationObserver(mark);
  observer.observe(document.body, { childList: true, subtree: true });
  const timer = setTimeout(() => observer.disconnect(), APPEARS_WITHIN);
  sizes.observe(card);
  mark();
  return () => {
    clearTimeout(timer);
    observer.disconnect();
    sizes.disconnect();
    removeEventListener("resize", again);
    for (const name of TAKES_OVER) removeEventListener(name, leave);
    unmark();
  };
}

/** Undo what was scrolled around an element for something else. */
function showTop(element: HTMLElement): void {
  for (let around = element.parentElement; around; around = around.parentElement) around.scrollTop = 0;
}

function useKept(): [string, (step: string) => void] {
  const [kept, setKept] = useState(() => {
    try {
      return localStorage.getItem(KEY) ?? "0";
    } catch {
      return "0"; // a page in a sandbox keeps nothing
    }
  });
  const keep = (step: string) => {
    try {
      localStorage.setItem(KEY, step);
    } catch {
      // shown all the same, for as long as the page is open
    }
    setKept(step);
  };
  return [kept, keep];
}

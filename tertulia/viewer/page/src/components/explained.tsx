/** What a sign or a word means, where it stands: it opens by keyboard, by mouse and by touch. */

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { inParts, sentenceOf, type TermName } from "../terms";

/** From the edge of the window, in pixels. */
const EDGE = 8;

/** A word with its sentence of the glossary, which shows while the word is pointed at or has the focus. */
export function Term({ of, children = of }: { of: TermName; children?: ComponentChildren }) {
  const [id, word, sentence] = [useId(), useRef<HTMLButtonElement>(null), useRef<HTMLSpanElement>(null)];
  useLayoutEffect(() => (settleTabs(), settleTabs), []);
  const isOpen = () => sentence.current?.matches(":popover-open") ?? false; // a word that leaves the page loses the focus
  const show = () => {
    const [box, at] = [sentence.current!, word.current!.getBoundingClientRect()];
    if (isOpen()) return;
    box.textContent = `${sentenceOf(of)}.`; // only while it shows: who searches the page or copies from it wants the text alone
    box.showPopover();
    const below = at.bottom + box.offsetHeight < window.innerHeight;
    box.style.left = `${Math.max(EDGE, Math.min(at.left, window.innerWidth - box.offsetWidth - EDGE))}px`;
    box.style.top = `${below ? at.bottom : at.top - box.offsetHeight}px`;
  };
  const hide = () => isOpen() && sentence.current!.hidePopover();
  const onKeyDown = (event: KeyboardEvent) => event.key === "Escape" && isOpen() && event.stopPropagation(); // it closes this alone
  return (
    <span class="term" onPointerEnter={show} onPointerLeave={() => document.activeElement !== word.current && hide()}>
      <button type="button" value={of} ref={word} aria-describedby={id} onFocus={show} onBlur={hide} onClick={show} onKeyDown={onKeyDown}>{children}</button>
      <span id={id} ref={sentence} role="tooltip" popover="auto" onToggle={() => isOpen() || sentence.current!.replaceChildren()} />
    </span>
  );
}

let isSettling = false;

/** Let Tab come to each term once in a page, where it stands first: it would else come to few other things. */
function settleTabs() {
  if (isSettling) return;
  isSettling = true;
  queueMicrotask(() => {
    isSettling = false;
    const known = new Set<string>();
    for (const word of document.querySelectorAll<HTMLButtonElement>(".term > button")) {
      word.tabIndex = known.has(word.value) ? -1 : 0;
      known.add(word.value);
    }
  });
}

/** A text of the program in which each term is explained where it stands first. */
export function Prose({ text }: { text: string }) {
  return <>{inParts(text).map((part, place) => (typeof part === "string" ? part : <Term key={place} of={part.name}>{part.word}</Term>))}</>;
}

/** A question that opens its answer. */
export function Explained({ ask, children }: { ask: string; children: ComponentChildren }) {
  return (
    <details class="explained small">
      <summary>{ask}</summary>
      <div class="stack explanation">{children}</div>
    </details>
  );
}

/** What λ is, with the picture of how it goes down the units. */
export function WhatIsLambda() {
  return (
    <Explained ask="What is λ?">
      <p>
        Before a line is said, each item of what its speaker is told gets a score: how much possible replies attend to it, unless
        another scorer is named. λ says how much of the score is then taken away, heaviest item first, passing over one that
        would take more than λ in all: at 0 nothing goes, at 0.5 up to half of the score, at 1 all that may go.
      </p>
      <LambdaPicture />
      <p>
        The higher λ, the less the speaker falls back on what is most at hand, and the more two conversations from the same
        beginning differ. A judge then reads whether the line contradicts what was taken away; if it does, another is said.
      </p>
      <p>
        What λ removes is chosen by scores of possible replies; it is no reason for the line. With the embedded model their
        attention tells what a line depends on no better than the length of the items does (docs/results/faithfulness.md).
      </p>
    </Explained>
  );
}

/** The shares of six items in the picture; they sum to 100. */
const SHARES = [30, 20, 18, 14, 10, 8];

function LambdaPicture() {
  let start = 0;
  return (
    <svg class="lambda-picture" viewBox="0 0 300 46" role="img" aria-label="Six items by their score; at λ = 0.5 the two heaviest, which have half of the score, are removed">
      {SHARES.map((share, place) => {
        const [x, isGone] = [start * 3, start + share <= 50];
        start += share;
        return <rect key={place} class={isGone ? "gone" : ""} x={x + 0.5} y={isGone ? 18 : 24} width={share * 3 - 1} height={isGone ? 24 : 18} />;
      })}
      <line x1={150} x2={150} y1={14} y2={46} />
      <text x={150} y={11} text-anchor="middle">λ = 0.5</text>
      <text x={0} y={11}>removed</text>
      <text x={300} y={11} text-anchor="end">kept</text>
    </svg>
  );
}

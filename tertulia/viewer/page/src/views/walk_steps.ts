/** The steps of the walk through the shipped example: a place each, what is marked there, and what there is to see. */

import { hrefOf } from "../router";

export interface Step {
  readonly title: string;
  readonly text: string;
  readonly place: string;
  /** What is marked, as selectors of CSS: the first that leaves room for the card, else the last. */
  readonly marked: readonly string[];
  /** What its text speaks of besides: the card leaves that free too, where there is a corner that does. */
  readonly besides?: string;
}

/** What the walk knows a conversation of the example by. */
export interface ExampleRun {
  readonly run: string;
  readonly scenario: string;
  readonly label: string | null;
  readonly parent: { readonly run: string; readonly turn: number } | null;
}

/** Return the steps through these conversations; those whose conversations are not there are left out. */
export function stepsThrough(runs: readonly ExampleRun[]): Step[] {
  const half = runs.find((run) => run.label === "λ = 0.5");
  const all = runs.find((run) => run.label === "λ = 1");
  const fork = runs.find((run) => run.parent && run.parent.run === half?.run);
  const meeting = runs.find((run) => run.scenario === "mothers_house");
  const at = (run: ExampleRun | undefined, query: Record<string, string | number>) => run && hrefOf(["runs", run.run], query);
  const steps: (Omit<Step, "place"> & { place: string | undefined })[] = [
    {
      title: "Conversations",
      text: "Each row is a conversation that a small language model had, with itself in every part. Here two people of a town talk at λ = 0.5; a fork of it stands below. The other rows are the same two at other λ; a meeting, an album chat and a day of the town, each at λ = 0 and 0.5; and an experiment.",
      place: hrefOf(["runs"]),
      marked: [half ? `.runs .run:has(a[href="${hrefOf(["runs", half.run])}"])` : ".runs .run:not(.head)"],
    },
    {
      title: "This is what she was told",
      text: "Before each line the model reads a prompt: who she is, what she remembers, what was said. These are its items, in the order in which it read them.",
      place: at(half, { turn: 1, pane: "prompt", units: "prompt" }),
      marked: [".block:nth-of-type(2)", ".block"],
    },
    {
      title: "Why she said that",
      text: "The sentence says what the line leaned on, where that is known: it is read from the line itself. Then it says what λ had taken away before, which is no reason for the line, and which of several lines was said.",
      place: at(half, { turn: 1, pane: "prompt", units: "weight" }),
      marked: [".answer"],
      besides: ".units",
    },
    {
      title: "Drag λ",
      text: "λ is the share of the score that is removed from the prompt: heaviest item first, passing over one that would take more than λ in all. The score of an item is the attention that possible replies pay it. Drag it, or press an arrow key: the items that would go are struck through at once. At 0 she is told everything, at 1 the conversation and the task alone.",
      place: at(half, { turn: 1, pane: "prompt" }),
      marked: [".lambda"],
      besides: ".units",
    },
    {
      title: "Several lines, one is said",
      text: "Whoever has forgotten something may contradict it. A judge compares each candidate with what was removed. One that conflicts is rolled back: the next candidate is judged, from the same prompt; nothing is put back into it. Here, at λ = 1, the first one passed.",
      place: at(all, { turn: 1, pane: "candidates" }),
      marked: [".candidate"],
    },
    {
      title: "What if?",
      text: "A fork goes on from a turn with something changed: here λ rises from 0.5 to 0.9 at turn 4. The two conversations stand side by side, and part where they first differ.",
      place: half && fork && hrefOf(["compare", half.run, fork.run]),
      marked: [".turn-difference .sides"],
    },
    {
      title: "A race for the floor",
      text: "In a meeting everybody thinks at once. Who is willing enough races to speak, and the shortest latency wins: the curves are how long each might have taken, the marks how long each took.",
      place: at(meeting, { turn: 4, pane: "minds" }),
      marked: [".race"],
    },
    {
      title: "What does λ do?",
      text: "Eight cases, each three times at three λ. The more λ removes, the further the model's expectations move from those by the full prompt (KL). At λ = 1 it is less sure of its next word (entropy); at 0.5 eight cases don't tell. A point is a case: select it to read its conversations. Then begin with your own: tertulia run tidewell --lambda 0.5",
      place: hrefOf(["experiments", "example"], { measures: "divergence,entropy" }),
      marked: [".measures > :last-child .keys:has(svg)"],
    },
  ];
  return steps.filter((step): step is Step => step.place !== undefined);
}

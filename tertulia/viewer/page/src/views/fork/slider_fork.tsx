/** The fork that the slider makes: shown below it as soon as something is set that the run does not have. */

import type { Run } from "../../documents";
import { lambda } from "../../format";
import { source } from "../../source";
import "../../styles/fork.css";
import { useDocument } from "../../use_document";
import { Do } from "../actions";
import { askedOf, forkWords, removingSettings } from "./draft";
import { removingOf, useRemoving } from "./removing";

export function SliderFork({ run, turn }: { run: Run; turn: number }) {
  const store = useDocument<{ words: readonly string[] }>(source.isFile ? null : "store");
  const removing = useRemoving(run);
  const settings = removingSettings(removing, removingOf(run));
  if (Object.keys(settings).length === 0) return null;
  const draft = { run: run.run, at: Math.max(1, turn), settings, changes: {} };
  const words = forkWords(draft, store.state === "ready" ? store.value.words : []);
  return (
    <section class="slider-fork actions" aria-label="Fork with what is set here">
      <Do words={words} asked={askedOf(draft)} name="Command with what is set here" label={labelOf(settings, removing.factor)} />
    </section>
  );
}

function labelOf(settings: Record<string, string>, factor: number): string {
  return settings.removal_factor === undefined ? "Fork with this order" : `Fork with λ = ${lambda(factor)}`;
}

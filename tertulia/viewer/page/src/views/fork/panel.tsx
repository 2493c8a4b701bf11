/** A fork from a turn: what the slider has set, the seed, any parameter, the line, people, memories; the command follows. */

import { useState } from "preact/hooks";
import { WithDocument } from "../../components/parts";
import type { Run } from "../../documents";
import { lambda } from "../../format";
import { goWith } from "../../router";
import { source } from "../../source";
import "../../styles/fork.css";
import { useDocument } from "../../use_document";
import { type Actions, actionsPath, Do } from "../actions";
import { factorOf, moveFactor } from "../turn/slider_value";
import { askedOf, changesNothing, type Draft, forkWords, removingSettings } from "./draft";
import { type Edited, Edits, UNEDITED } from "./edits";
import { type Parameter, parametersOf, Setting } from "./parameters";
import { ORDERS, removingOf, useRemoving, WALKS } from "./removing";

interface Form {
  readonly run: Run;
  readonly at: number;
  /** What was said in the turn, and by whom; null of a silence. */
  readonly said: { readonly speaker: string; readonly text: string } | null;
}

export function ForkPanel({ run, turn, said }: { run: Run; turn: number; said: Form["said"] }) {
  const [isOpen, open] = useState(false);
  const form = { run, at: Math.max(1, turn), said };
  return (
    <details class="actions" onToggle={(event) => open(event.currentTarget.open)}>
      <summary>Fork from here</summary>
      {isOpen && (source.isFile ? <ForkForm key={turn} {...form} parameters={parametersOf(run)} store={[]} /> : <ServedForkForm key={turn} {...form} />)}
    </details>
  );
}

function ServedForkForm(form: Form) {
  const actions = useDocument<Actions>(actionsPath(form.run));
  return <WithDocument of={actions}>{({ parameters, store }) => <ForkForm {...form} parameters={parameters} store={store} />}</WithDocument>;
}

/** Parameters that the form has a field for. */
const WITH_FIELDS = ["removal_factor", "removal_order", "removal_walk"];

function ForkForm({ run, at, said, parameters, store }: Form & { parameters: readonly Parameter[]; store: readonly string[] }) {
  const [seed, setSeed] = useState(String(run.seed));
  const [changed, setChanged] = useState<readonly (readonly [string, string])[]>([]);
  const [edited, setEdited] = useState<Edited>(UNEDITED);
  const [unusable, setUnusable] = useState<string | null>(null);
  const removing = useRemoving(run);
  const free = parameters.filter(({ name }) => !WITH_FIELDS.includes(name) && !changed.some(([taken]) => taken === name));
  const isOtherSeed = seed.trim() !== "" && seed.trim() !== String(run.seed);
  const settings = {
    ...removingSettings(removing, removingOf(run)),
    ...(isOtherSeed ? { seed: seed.trim() } : {}),
    ...Object.fromEntries(changed),
  };
  const draft: Draft = { run: run.run, at, settings, changes: edited.changes };
  const kept = at === 1 ? "No turn is kept: the fork starts from the beginning." : at === 2 ? "Turn 1 is kept." : `Turns 1 to ${at - 1} are kept.`;
  return (
    <div class="stack fork-form">
      <p class="small muted">{kept} The fork is a new run; this one is not changed.</p>
      <Removing run={run} tell={setUnusable} />
      <div class="row">
        <label>
          seed <input type="number" step="1" value={seed} onInput={(e) => setSeed(e.currentTarget.value)} />
        </label>
        <select
          aria-label="Change another parameter"
          value=""
          onChange={(event) => {
            const found = free.find(({ name }) => name === event.currentTarget.value);
            if (found) setChanged([...changed, [found.name, found.value === "''" ? "" : found.value]]);
          }}
        >
          <option value="">change another parameter…</option>
          {free.map(({ name }) => <option key={name} value={name}>{name}</option>)}
        </select>
      </div>
      {changed.map(([name, value]) => (
        <Setting
          key={name}
          parameter={parameters.find((parameter) => parameter.name === name)!}
          value={value}
          set={(value) => setChanged(changed.map((entry) => (entry[0] === name ? ([name, value] as const) : entry)))}
          drop={() => setChanged(changed.filter(([other]) => other !== name))}
        />
      ))}
      <Edits run={run} at={at} said={said} tell={setEdited} />
      {changesNothing(draft) && <Nothing run={run} at={at} />}
      <Do words={forkWords(draft, store)} asked={askedOf(draft)} label="Start" problem={unusable ?? edited.problem} />
    </div>
  );
}

/** λ, order and walk: the slider's, which they move too. */
function Removing({ run, tell }: { run: Run; tell: (problem: string | null) => void }) {
  const { factor, order, walk } = useRemoving(run);
  const [typed, setTyped] = useState<string | null>(null); // what is being typed need not be a number yet
  const type = (text: string) => {
    setTyped(text);
    const factor = text.trim() === "" ? NaN : Number(text);
    const isFactor = factor >= 0 && factor <= 1;
    if (isFactor) moveFactor(factor);
    tell(isFactor ? null : `λ is a number from 0 to 1${Number.isNaN(factor) ? "" : `, not ${text}`}.`);
  };
  return (
    <div class="row">
      <label>
        λ{" "}
        <input
          type="number" min="0" max="1" step="0.05" value={typed ?? factor}
          onInput={(e) => type(e.currentTarget.value)} onBlur={() => factorOf(typed ?? "0") !== null && setTyped(null)}
        />
      </label>
      <label>
        order{" "}
        <select value={order} onChange={(e) => goWith({ order: e.currentTarget.value })}>
          {Object.entries(ORDERS).map(([name, words]) => <option key={name} value={name}>{words}</option>)}
        </select>
      </label>
      <label>
        walk{" "}
        <select value={walk} onChange={(e) => goWith({ walk: e.currentTarget.value })}>
          {Object.entries(WALKS).map(([name, words]) => <option key={name} value={name}>{words}</option>)}
        </select>
      </label>
    </div>
  );
}

/** That the fork would be the same run again, and what to do for another. */
function Nothing({ run, at }: { run: Run; at: number }) {
  return (
    <p class="notice small" role="status">
      Nothing is changed: this fork would say the same again from turn {at} on. Drag λ away from {lambda(run.parameters.removal_factor)},
      or change the seed, a parameter, the line, a person or a memory.
    </p>
  );
}

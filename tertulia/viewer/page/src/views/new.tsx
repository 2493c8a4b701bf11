/** A conversation that is begun here: its people, λ, the model, what it would cost, and the button that begins it. */

import { useEffect, useState } from "preact/hooks";
import { WhatIsLambda } from "../components/explained";
import { Notice, WithDocument } from "../components/parts";
import { isGoingOn, Started, type StartedCommand, useStarted } from "../components/started";
import { counted, lambda, listed } from "../format";
import { go, hrefOf } from "../router";
import { saveText } from "../save";
import { RefusedError, request } from "../server_request";
import "../styles/new.css";
import { useDocument } from "../use_document";
import { useAllowed } from "./actions";
import { asked, type Draft, fieldShown, isBlank, keepDraft, keptDraft, peopleAsked, shownTyped, type Typed, UNTOUCHED } from "./new_draft";
import { Field, type Problem, TextField } from "./new_fields";
import { type Case, OwnPeople, ShippedPeople } from "./new_people";
import { type Bringing, useBringing } from "./people";

interface Model {
  readonly name: string;
  readonly is_served: boolean;
}

/** The document `new`. */
interface Offered {
  readonly cases: readonly Case[];
  readonly models: readonly Model[];
}

export function NewView() {
  const mayStart = useAllowed("can_start");
  const offered = useDocument<Offered>(mayStart ? "new" : null);
  const bringing = useBringing();
  return (
    <main class={`view new ${bringing.isOver ? "dropping" : ""}`}>
      <div class="heading"><h1>New conversation</h1><a href={hrefOf(["runs"])}>All runs</a></div>
      {mayStart
        ? <WithDocument of={offered}>{(offered) => <Form {...offered} bringing={bringing} />}</WithDocument>
        : <Notice><p>Conversations are begun where the page may start runs: <code>tertulia view --allow-runs</code></p></Notice>}
    </main>
  );
}

/** Return the server's reasons by the fields of the form; those of fields that it doesn't show are told below it. */
function problemOf(error: Error, typed: readonly Typed[]): Problem {
  const told = Object.entries(error instanceof RefusedError ? error.fields : {});
  const fields = told.map(([field, words]) => [fieldShown(field, typed), words] as const);
  const elsewhere = fields.filter(([field]) => field === null).map(([, words]) => words);
  const words = told.length === 0 ? error.message : elsewhere.join("; ") || null;
  return { fields: Object.fromEntries(fields.filter(([field]) => field !== null)), words };
}

/** The shipped scenario that is chosen at first: two people of a town who have much to remember. */
const FIRST_CASE = "tidewell:7";

function Form({ cases, models, bringing }: Offered & { bringing: Bringing }) {
  const [draft, setDraft] = useState(() => {
    const kept = keptDraft();
    const [model] = models;
    return {
      ...kept,
      scenario: cases.some(({ scenario }) => scenario === kept.scenario) ? kept.scenario : FIRST_CASE,
      model: models.some(({ name }) => name === kept.model) ? kept.model : model!.name,
    };
  });
  const [problem, setProblem] = useState<Problem | null>(null);
  const change = (changes: Partial<Draft>) => {
    setProblem(null);
    setDraft((draft) => ({ ...draft, ...changes }));
  };
  useEffect(() => keepDraft(draft), [draft]);
  const { files } = bringing;
  useEffect(() => {
    if (files.length) setDraft((draft) => ({ ...draft, source: "own", typed: draft.typed.filter((person) => !isBlank(person)) }));
  }, [files.length]);
  const [started, follow] = useStarted((run) => {
    keepDraft({ ...UNTOUCHED, factor: draft.factor, model: draft.model });
    go(hrefOf(["runs", run], hasSeat ? { seats: 1 } : { follow: 1 }));
  });
  const [hasSeat, setSeat] = useState(false);
  /** Return what the server answers; where it refuses, show why, and return null. */
  const ask = async <T,>(path: string, body: unknown): Promise<T | null> => {
    setProblem(null);
    try {
      return await request<T>(path, body);
    } catch (error) {
      setProblem(problemOf(error as Error, shownTyped(draft.typed, files.length > 0)));
      return null;
    }
  };
  const begin = async () => {
    const command = await ask<StartedCommand & { has_seat: boolean }>("new/begin", asked(draft, files));
    if (command === null) return;
    setSeat(command.has_seat);
    follow(Promise.resolve(command));
  };
  const save = async () => {
    const file = await ask<{ name: string; text: string }>("new/scenario", { people: peopleAsked(draft, files) });
    if (file !== null) saveText(file.name, file.text, "application/yaml");
  };
  useEffect(() => {
    if (problem !== null) document.querySelector<HTMLElement>(".new [aria-invalid=true]")?.focus();
  }, [problem]);
  const isOwn = draft.source === "own";
  const startAfresh = () => {
    change({ ...UNTOUCHED, factor: draft.factor, model: draft.model });
    bringing.takeWaiting();
  };
  return (
    <form class="new-form" noValidate onSubmit={(event) => (event.preventDefault(), void begin())}>
      {bringing.waiting.length > 0 && (
        <section class="notice stack" role="group" aria-label="An unfinished conversation">
          <p>You have an unfinished conversation. Is <b class="data">{listed(bringing.waiting.map(({ name }) => name))}</b> for it?</p>
          <p class="row">
            <button type="button" onClick={bringing.takeWaiting}>Add to it</button>
            <button type="button" onClick={startAfresh}>Start afresh</button>
          </p>
        </section>
      )}
      <section class="card stack" aria-labelledby="new-people">
        <h2 id="new-people">Who talks</h2>
        <div class="row" role="radiogroup" aria-labelledby="new-people">
          {([["own", "People of your own"], ["shipped", "A shipped scenario"]] as const).map(([source, label]) => (
            <label key={source} class="row"><input type="radio" name="source" checked={draft.source === source} onChange={() => change({ source })} />{label}</label>
          ))}
        </div>
        {isOwn
          ? <OwnPeople draft={draft} change={change} problem={problem} bringing={bringing} />
          : <ShippedPeople draft={draft} change={change} problem={problem} cases={cases} />}
      </section>
      <section class="card stack new-settings" aria-labelledby="new-how">
        <h2 id="new-how">How</h2>
        <Settings draft={draft} change={change} problem={problem} models={models} />
        <Cost draft={draft} files={files} ask={ask} isServed={models.some(({ name, is_served }) => is_served && name === draft.model)} />
        <p class="row">
          <button class="primary" disabled={isGoingOn(started)}>Begin</button>
          {isOwn && <button type="button" onClick={() => void save()}>Save as YAML</button>}
        </p>
        {problem && problem.words !== null && <p class="wrong data small" role="alert">{problem.words}</p>}
        {started !== null && <Started command={started} what="The conversation" />}
      </section>
    </form>
  );
}

interface SettingsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  readonly problem: Problem | null;
  readonly models: readonly Model[];
}

function Settings({ draft, change, problem, models }: SettingsProps) {
  const shown = models.find(({ name }) => name === draft.model)!;
  return (
    <>
      <Field name="lambda" label={<>λ = <b class="number">{lambda(draft.factor)}</b></>} problem={problem}
        note="λ hides the facts that a speaker would lean on most: 0 none, 1 all.">
        {(attributes) => (
          <input {...attributes} type="range" min="0" max="1" step="0.05" value={draft.factor} aria-valuetext={`λ = ${lambda(draft.factor)}`}
            onInput={(event) => change({ factor: Number(event.currentTarget.value) })} />
        )}
      </Field>
      <WhatIsLambda />
      <Field name="model" label="Model" problem={problem} note={noteOf(shown, draft.factor)}>
        {(attributes) => (
          <select {...attributes} value={draft.model} onChange={(event) => change({ model: event.currentTarget.value })}>
            {models.map(({ name }) => <option key={name} value={name}>{NAMES[name] ?? name}</option>)}
          </select>
        )}
      </Field>
      <div class="new-scene">
        <TextField name="seed" label="Seed" problem={problem} value={draft.seed} set={(seed) => change({ seed })} />
        <TextField name="rounds" label="Rounds at most" problem={problem} value={draft.rounds} placeholder="until it ends" set={(rounds) => change({ rounds })} />
      </div>
    </>
  );
}

const NAMES: Readonly<Record<string, string>> = { smollm2: "smollm2, embedded", rehearsal: "none: rehearse" };

function noteOf({ name, is_served }: Model, factor: number): string {
  if (name === "rehearsal") return "A stand-in speaks: in a second, and without sense.";
  if (!is_served) return "It runs on this machine, without an account or a network.";
  return `Prompts are sent to its server.${factor > 0 ? " The embedded model scores for λ." : ""}`;
}

/** The answer of `new/cost`. */
interface Costs {
  readonly turns: number;
  readonly calls: number;
  readonly tokens_read: number;
  readonly tokens_written: number;
  /** Null where no earlier run of the model tells it. */
  readonly seconds: number | null;
}

interface CostProps {
  readonly draft: Draft;
  readonly files: readonly string[];
  readonly ask: <T>(path: string, body: unknown) => Promise<T | null>;
  readonly isServed: boolean;
}

/** What the conversation would cost, for as long as nothing is changed; and what that is in money, at a price that is typed. */
function Cost({ draft, files, ask, isServed }: CostProps) {
  const body = asked(draft, files);
  const version = JSON.stringify(body);
  const [found, setFound] = useState<{ version: string; costs: Costs | null } | null>(null);
  const [prices, setPrices] = useState<readonly [string, string]>(["", ""]);
  const costs = found?.version === version ? found.costs : null;
  const isAsking = found?.version === version && costs === null;
  const reckon = async () => {
    setFound({ version, costs: null });
    const costs = await ask<Costs>("new/cost", body);
    setFound(costs && { version, costs });
  };
  const [read, written] = prices.map(Number) as [number, number];
  const money = costs && prices.every((price) => price.trim() !== "") ? (costs.tokens_read * read + costs.tokens_written * written) / 1e6 : NaN;
  return (
    <div class="stack new-cost">
      <p class="row"><button type="button" disabled={isAsking} onClick={() => void reckon()}>What would it cost?</button></p>
      <div role="status" class="small">
        {isAsking && "Rehearsing…"}
        {costs && (
          <p>
            As rehearsed: {counted(costs.turns, "turn")}, {counted(costs.calls, "call")} of the model, {counted(costs.tokens_read, "token")} read
            and {costs.tokens_written.toLocaleString("en")} written; {timeOf(costs.seconds)}.{money >= 0 && ` At this price: ${money.toFixed(4)}.`}
          </p>
        )}
      </div>
      {costs && isServed && (
        <div class="new-scene small">
          {(["read", "written"] as const).map((what, place) => (
            <label key={what}>
              Price of a million tokens {what}
              <input inputMode="decimal" value={prices[place]} onInput={({ currentTarget: { value } }) => setPrices(place ? [prices[0], value] : [value, prices[1]])} />
            </label>
          ))}
        </div>
      )}
    </div>
  );
}

function timeOf(seconds: number | null): string {
  if (seconds === null) return "how long is not known before a first run with this model";
  if (seconds < 90) return `about ${counted(Math.max(1, Math.round(seconds)), "second")}`;
  return `about ${counted(Math.round(seconds / 60), "minute")}`;
}

/** What can be done from a run: the exact command, to copy; and a button that starts it where the server allows that. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Status, WithDocument } from "../components/parts";
import type { Run } from "../documents";
import { hrefOf } from "../router";
import { request } from "../server_request";
import { commandLine, quoted } from "../shell";
import { source } from "../source";
import "../styles/actions.css";
import { useDocument } from "../use_document";

/** A parameter that a fork may change, with its value in this run, as `--set` takes it. */
interface Parameter {
  readonly name: string;
  readonly group: string;
  readonly value: string;
  readonly values: string;
  readonly choices: readonly string[];
  readonly default: string;
  readonly description: string;
}

/** The document `runs/RUN/actions`. */
interface Actions {
  readonly resume: readonly string[] | null;
  readonly store: readonly string[];
  readonly parameters: readonly Parameter[];
}

/** A command that the server has started. */
interface Command {
  readonly number: number;
  readonly run: string | null;
  readonly exit_code: number | null;
  readonly lines: readonly string[];
}

/** What the server is asked to start. */
type Asked =
  | { readonly action: "fork"; readonly run: string; readonly at: number; readonly settings: Record<string, string> }
  | { readonly action: "resume"; readonly run: string };

/** A fork from a turn: λ, the seed or any parameter may be changed, and the command follows. */
export function ForkPanel({ run, turn }: { run: Run; turn: number }) {
  const [isOpen, open] = useState(false);
  const form = { run, at: Math.max(1, turn) };
  return (
    <details class="actions" onToggle={(event) => open(event.currentTarget.open)}>
      <summary>Fork from here</summary>
      {isOpen && (source.isFile ? <ForkForm {...form} parameters={parametersOf(run)} store={[]} /> : <ServedForkForm {...form} />)}
    </details>
  );
}

interface Form {
  readonly run: Run;
  readonly at: number;
}

function ServedForkForm(form: Form) {
  const actions = useDocument<Actions>(actionsPath(form.run));
  return <WithDocument of={actions}>{({ parameters, store }) => <ForkForm {...form} parameters={parameters} store={store} />}</WithDocument>;
}

/** The command that goes on with a run that has stopped. */
export function ResumePanel({ run }: { run: Run }) {
  const [change, setChange] = useState<{ status: string; driven?: boolean }>({ status: run.status });
  useEffect(() => source.watch(run.run, ({ run }) => run && setChange(run)), [run.run]);
  const version = `${change.status} ${change.driven}`;
  const actions = useDocument<Actions>(source.isFile ? null : actionsPath(run), version);
  const store = actions.state === "ready" ? actions.value.store : [];
  const isResumable = source.isFile ? run.status !== "finished" : actions.state === "ready" && actions.value.resume !== null;
  if (change.driven) return <p class="small">A process is continuing this run. It can be resumed once that process has ended.</p>;
  if (!isResumable || change.status === "finished") return null;
  const why = change.status === "running" ? "The run is stored as running, but its process has ended." : `The run is ${change.status}.`;
  return (
    <section class="actions stack" aria-label="Resume this run">
      <p class="small">{why} Its turns are kept. This command continues it:</p>
      <Do words={["resume", run.run, ...store]} asked={{ action: "resume", run: run.run }} />
    </section>
  );
}

const actionsPath = (run: Run) => `runs/${encodeURIComponent(run.run)}/actions`;

/** Return the parameters of a run where no server lists those that may be changed: an exported file has no store. */
function parametersOf(run: Run): readonly Parameter[] {
  const plain = Object.entries(run.parameters).filter(([, value]) => value === null || typeof value !== "object");
  return plain.map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return { name, group: "", value: text, values: "", choices: [], default: "", description: "" };
  });
}

function ForkForm({ run, at, parameters, store }: Form & { parameters: readonly Parameter[]; store: readonly string[] }) {
  const [factor, setFactor] = useState(String(run.parameters.removal_factor));
  const [seed, setSeed] = useState(String(run.seed));
  const [changed, setChanged] = useState<readonly (readonly [string, string])[]>([]);
  const free = parameters.filter(({ name }) => name !== "removal_factor" && !changed.some(([taken]) => taken === name));
  const set = (name: string, value: string) =>
    setChanged(changed.map((entry) => (entry[0] === name ? ([name, value] as const) : entry)));
  const isNew = (value: string, former: unknown) => value.trim() !== "" && value.trim() !== String(former);
  const settings = {
    ...(isNew(factor, run.parameters.removal_factor) ? { removal_factor: factor.trim() } : {}),
    ...(isNew(seed, run.seed) ? { seed: seed.trim() } : {}),
    ...Object.fromEntries(changed),
  };
  const kept = at === 1 ? "No turn is kept: the fork starts from the beginning." : at === 2 ? "Turn 1 is kept." : `Turns 1 to ${at - 1} are kept.`;
  return (
    <div class="stack">
      <p class="small muted">{kept} The fork is a new run; this one is not changed.</p>
      <div class="row">
        <label>
          λ{" "}
          <input type="number" min="0" max="1" step="0.05" value={factor} onInput={(e) => setFactor(e.currentTarget.value)} />
        </label>
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
          set={(value) => set(name, value)}
          drop={() => setChanged(changed.filter(([other]) => other !== name))}
        />
      ))}
      <Do words={forkWords(run.run, at, settings, store)} asked={{ action: "fork", run: run.run, at, settings }} />
    </div>
  );
}

/** Return the arguments of the fork, as viewer/documents/actions.py makes them. */
function forkWords(run: string, at: number, settings: Record<string, string>, store: readonly string[]): string[] {
  const options: Record<string, string> = { removal_factor: "--lambda", seed: "--seed" };
  const given = Object.entries(settings).flatMap(([name, value]) =>
    options[name] === undefined ? ["--set", `${name}=${value}`] : [options[name], value],
  );
  return ["fork", run, "--at", String(at), ...given, ...store];
}

function Setting({ parameter, value, set, drop }: { parameter: Parameter; value: string; set: (value: string) => void; drop: () => void }) {
  const { name, choices, values, description } = parameter;
  const isChoice = choices.length > 0 && values === choices.join(" | ");
  const [field, described] = [useId(), useId()];
  return (
    <div>
      <div class="row">
        <label class="code" for={field}>{name}</label>
        {isChoice ? (
          <select id={field} value={value} onChange={(event) => set(event.currentTarget.value)} aria-describedby={described}>
            {choices.map((choice) => <option key={choice}>{choice}</option>)}
          </select>
        ) : (
          <input id={field} value={value} onInput={(event) => set(event.currentTarget.value)} aria-describedby={described} />
        )}
        <button onClick={drop} aria-label={`Leave ${name} as it is`}>Leave as it is</button>
      </div>
      <p id={described} class="small muted data">{[description, values].filter(Boolean).join("; ")}</p>
    </div>
  );
}

/** A command with what can be done with it. */
function Do({ words, asked }: { words: readonly string[]; asked: Asked }) {
  const line = commandLine(["tertulia", ...words]);
  const shown = useRef<HTMLDivElement>(null);
  const [copied, setCopied] = useState("");
  const canStart = useCanStart();
  const [started, start] = useStarted();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(line);
      setCopied("Copied.");
    } catch {
      getSelection()?.selectAllChildren(shown.current!);
      setCopied("Selected: copy it with the keyboard.");
    }
  };
  useEffect(() => setCopied(""), [line]);
  return (
    <div class="stack">
      <div class="row">
        <div class="command data" role="group" aria-label="Command" ref={shown}>
          {["tertulia", ...words].map((word, index) => <>{index > 0 && " "}<span>{quoted(word)}</span></>)}
        </div>
        <button onClick={copy}>Copy</button>
        {canStart && <button class="primary" disabled={isGoingOn(started)} onClick={() => start(asked)}>Start</button>}
        <span class="small" role="status">{copied}</span>
      </div>
      {started !== null && <Started command={started} />}
    </div>
  );
}

function Started({ command }: { command: Command | string }) {
  if (typeof command === "string") return <p class="notice bad data" role="alert">{command}</p>;
  const hasFailed = command.exit_code !== null && command.exit_code !== 0;
  return (
    <div class="stack" role="status">
      <p class="row">
        <Status status={command.exit_code === null ? "running" : hasFailed ? "failed" : "finished"} />
        {command.run === null
          ? !hasFailed && "Starting…"
          : <a href={hrefOf(["runs", command.run])}>{`Show run ${command.run}`}</a>}
      </p>
      {hasFailed && <pre class="command data small">{command.lines.join("\n") || `The command printed nothing and ended with exit code ${command.exit_code}.`}</pre>}
    </div>
  );
}

const isGoingOn = (command: Command | string | null) => command !== null && typeof command === "object" && command.exit_code === null;

/** Whether the server starts commands: `tertulia view --allow-runs`. */
function useCanStart(): boolean {
  const [can, setCan] = useState(false);
  useEffect(() => {
    if (!source.isFile) request<{ can_start: boolean }>("start").then(({ can_start }) => setCan(can_start), () => {});
  }, []);
  return can;
}

const ASK_EVERY_MS = 500;

/** The command that was started here, as it stands now (or why it was not), and what starts one. */
function useStarted(): [Command | string | null, (asked: Asked) => void] {
  const [started, setStarted] = useState<Command | string | null>(null);
  const going = typeof started === "object" && started !== null && started.exit_code === null ? started.number : null;
  useEffect(() => {
    if (going === null) return;
    const ask = async () => {
      try {
        const { commands } = await request<{ commands: readonly Command[] }>("start");
        setStarted(commands.find(({ number }) => number === going) ?? null);
      } catch {
        // the line about the connection says so
      }
    };
    const timer = setInterval(ask, ASK_EVERY_MS);
    return () => clearInterval(timer);
  }, [going]);
  const start = (asked: Asked) =>
    void request<Command>("start", asked).then(setStarted, (error: Error) => setStarted(error.message));
  return [started, start];
}

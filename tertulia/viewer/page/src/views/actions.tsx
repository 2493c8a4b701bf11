/** What can be done from a run: the exact command, to copy; and a button that starts it where the server allows that. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Status } from "../components/parts";
import type { Run } from "../documents";
import { go, hrefOf } from "../router";
import { request } from "../server_request";
import { commandLine, quoted } from "../shell";
import { source } from "../source";
import "../styles/actions.css";
import { useDocument } from "../use_document";
import type { Asked } from "./fork/draft";
import type { Parameter } from "./fork/parameters";

/** The document `runs/RUN/actions`. */
export interface Actions {
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

export const actionsPath = (run: Run) => `runs/${encodeURIComponent(run.run)}/actions`;

interface DoProps {
  readonly words: readonly string[];
  readonly asked: Asked;
  /** What the button says that starts it. */
  readonly label?: string;
  /** What tells this command from another one on the page. */
  readonly name?: string;
  /** Why it can't be started as it is. */
  readonly problem?: string | null;
}

/** A command with what can be done with it; a fork that was started here is shown beside its parent. */
export function Do({ words, asked, label = "Start", name = "Command", problem = null }: DoProps) {
  const line = commandLine(["tertulia", ...words]);
  const shown = useRef<HTMLDivElement>(null);
  const [copied, setCopied] = useState("");
  const canStart = useAllowed("can_start");
  const [started, start] = useStarted(asked);
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
    <div class="stack do">
      <div class="row">
        <div class="command data" role="group" aria-label={name} ref={shown}>
          {["tertulia", ...words].map((word, index) => <>{index > 0 && " "}<span>{word.length > LONG ? `${quoted(word).slice(0, LONG)}…` : quoted(word)}</span></>)}
        </div>
        <button onClick={copy}>Copy</button>
        {canStart && <button class="primary" disabled={isGoingOn(started) || problem !== null} onClick={() => start(asked)}>{label}</button>}
        <span class="small" role="status">{copied}</span>
      </div>
      {problem !== null && <p class="notice bad small" role="alert">{problem}</p>}
      {started !== null && problem === null && <Started command={started} asked={asked} />}
    </div>
  );
}

/** Of a longer argument the beginning is shown; all of it is copied. */
const LONG = 400;

function Started({ command, asked }: { command: Command | string; asked: Asked }) {
  if (typeof command === "string") return <p class="notice bad data" role="alert">{command}</p>;
  const hasFailed = command.exit_code !== null && command.exit_code !== 0;
  const what = asked.action === "fork" ? "The fork" : "The run";
  return (
    <div class="stack" role="status">
      <p class="row">
        <Status status={command.exit_code === null ? "running" : hasFailed ? "failed" : "finished"} />
        {command.run !== null && <a href={hrefOf(["runs", command.run])}>{`Show run ${command.run}`}</a>}
        {command.run === null && !hasFailed && "Starting: the model is being opened…"}
        {command.run === null && hasFailed && `${what} could not be started. It says:`}
      </p>
      {hasFailed && <pre class="command data small">{command.lines.join("\n") || `The command printed nothing and ended with exit code ${command.exit_code}.`}</pre>}
    </div>
  );
}

const isGoingOn = (command: Command | string | null) => command !== null && typeof command === "object" && command.exit_code === null;

type Allowed = Readonly<Record<"can_start" | "can_check", boolean>>;

let allowed: Promise<Allowed> | null = null;

/** Whether the server starts commands, or checks what lines leaned on: `tertulia view --allow-runs`. */
export function useAllowed(what: keyof Allowed): boolean {
  const [can, setCan] = useState(false);
  useEffect(() => {
    if (source.isFile) return;
    allowed ??= request<Allowed>("start");
    allowed.then((answer) => setCan(answer[what]), () => void (allowed = null));
  }, []);
  return can;
}

/** Milliseconds between two looks at a command: while nobody knows its run yet, and then. */
const [ASK_AT_FIRST_MS, ASK_EVERY_MS] = [150, 500];

/** The command that was started here, as it stands now (or why it was not), and what starts one. */
function useStarted({ action, run: parent }: Asked): [Command | string | null, (asked: Asked) => void] {
  const [started, setStarted] = useState<Command | string | null>(null);
  const going = typeof started === "object" && started !== null && started.exit_code === null ? started.number : null;
  const run = typeof started === "object" && started !== null ? started.run : null;
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
    const timer = setInterval(ask, run === null ? ASK_AT_FIRST_MS : ASK_EVERY_MS);
    return () => clearInterval(timer);
  }, [going, run]);
  useEffect(() => {
    if (run !== null && action === "fork") go(hrefOf(["compare", parent, run]));
  }, [run]);
  const start = (asked: Asked) =>
    void request<Command>("start", asked).then(setStarted, (error: Error) => setStarted(error.message));
  return [started, start];
}

/** What can be done from a run: the exact command, to copy; and a button that starts it where the server allows that. */

import { useEffect, useRef, useState } from "preact/hooks";
import { isGoingOn, Started, type StartedCommand, useStarted } from "../components/started";
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
  const [started, follow] = useStarted((run) => asked.action === "fork" && go(hrefOf(["compare", asked.run, run])));
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
        {canStart && <button class="primary" disabled={isGoingOn(started) || problem !== null} onClick={() => follow(request<StartedCommand>("start", asked))}>{label}</button>}
        <span class="small" role="status">{copied}</span>
      </div>
      {problem !== null && <p class="notice bad small" role="alert">{problem}</p>}
      {started !== null && problem === null && <Started command={started} what={asked.action === "fork" ? "The fork" : "The run"} />}
    </div>
  );
}

/** Of a longer argument the beginning is shown; all of it is copied. */
const LONG = 400;

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

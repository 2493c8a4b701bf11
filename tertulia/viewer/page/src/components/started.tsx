/** A command that the server has started for the page: how it stands, until it ends. */

import { useEffect, useState } from "preact/hooks";
import { hrefOf } from "../router";
import { request } from "../server_request";
import { Status } from "./parts";

export interface StartedCommand {
  readonly number: number;
  readonly run: string | null;
  readonly exit_code: number | null;
  readonly lines: readonly string[];
}

/** A command that was started, or why it was not. */
export type Attempt = StartedCommand | string | null;

export const isGoingOn = (attempt: Attempt) => attempt !== null && typeof attempt === "object" && attempt.exit_code === null;

/** Milliseconds between two looks at a command: while its run is not known yet, and then. */
const [ASK_AT_FIRST_MS, ASK_EVERY_MS] = [150, 500];

/** Return the command that was started here last, as it stands now, and what follows another one, with what is done once its run is known. */
export function useStarted(known: (run: string) => void = () => {}): [Attempt, (starting: Promise<StartedCommand>) => void] {
  const [started, setStarted] = useState<Attempt>(null);
  const command = typeof started === "object" ? started : null;
  const going = command !== null && command.exit_code === null ? command.number : null;
  const run = command?.run ?? null;
  useEffect(() => {
    if (going === null) return;
    const ask = async () => {
      try {
        const { commands } = await request<{ commands: readonly StartedCommand[] }>("start");
        setStarted(commands.find(({ number }) => number === going) ?? null);
      } catch {
        // the line about the connection says so
      }
    };
    const timer = setInterval(ask, run === null ? ASK_AT_FIRST_MS : ASK_EVERY_MS);
    return () => clearInterval(timer);
  }, [going, run]);
  useEffect(() => {
    if (run !== null) known(run);
  }, [run]);
  return [started, (starting) => void starting.then(setStarted, (error: Error) => setStarted(error.message))];
}

/** How a command stands: its run, or its last lines where it failed. */
export function Started({ command, what }: { command: StartedCommand | string; what: string }) {
  if (typeof command === "string") return <p class="notice bad data" role="alert">{command}</p>;
  const hasFailed = command.exit_code !== null && command.exit_code !== 0;
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

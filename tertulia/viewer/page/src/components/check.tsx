/** The button that has the run's model measure what a line, or a thought, leaned on, where the server allows that. */

import { useState } from "preact/hooks";
import type { Run } from "../documents";
import { request } from "../server_request";
import { replaceDocument } from "../use_document";
import { useAllowed } from "../views/actions";
import type { Reason } from "../leaning";
import type { TurnDocument } from "../views/turn_documents";

type State = "" | "measuring" | "measured" | { readonly problem: string };

interface Props {
  readonly run: Run;
  readonly turn: number;
  /** What the words leaned on, as far as that is known; null: nobody has read them. */
  readonly leanedOn: readonly Reason[] | null;
  /** The part of an exchange, or the agent of a meeting whose thought is meant; empty for the turn's own line. */
  readonly part: string;
  /** What is read, and the words on the button. */
  readonly what: string;
  readonly label: string;
  /** Whether words that nobody has read are offered, too. */
  readonly offersUnread?: boolean;
}

/** Where words leaned on something that nobody has measured: a button, and then what became of it. */
export function Check({ run, turn, leanedOn, part, what, label, offersUnread = false }: Props) {
  const isAllowed = useAllowed("can_check");
  const [state, setState] = useState<State>("");
  const isEstimated = leanedOn === null ? offersUnread : leanedOn.some((reason) => !reason.measured);
  const told = { "": "", measuring: `The run's model reads ${what} without each item…`, measured: "Measured." };
  if (!isAllowed || run.rehearsed || (!isEstimated && state === "")) return null;
  const check = () => {
    setState("measuring");
    request<TurnDocument>("check", { run: run.run, turn, part }).then(
      (document) => (setState("measured"), replaceDocument(`runs/${encodeURIComponent(run.run)}/turns/${turn}`, document)),
      (error: Error) => setState({ problem: error.message }),
    );
  };
  const hasFailed = typeof state === "object";
  return (
    <div class="check">
      {isEstimated && (
        <button title={`Measure how much less likely ${what} is without each item that it leaned on`} disabled={state === "measuring"} onClick={check}>
          {label}
        </button>
      )}
      <p class="small muted" role="status">{hasFailed ? "" : told[state]}</p>
      {hasFailed && <p class="notice bad small data" role="alert">{state.problem}</p>}
    </div>
  );
}

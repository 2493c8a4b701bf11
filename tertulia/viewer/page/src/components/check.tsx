/** The button that has the run's model measure what a line leaned on, where the server allows that. */

import { useState } from "preact/hooks";
import type { Run } from "../documents";
import { request } from "../server_request";
import { replaceDocument } from "../use_document";
import { useAllowed } from "../views/actions";
import type { Making, TurnDocument } from "../views/turn_documents";

type State = "" | "measuring" | "measured" | { readonly problem: string };

const TOLD = { "": "", measuring: "The run's model reads the line without each item…", measured: "Measured." };

/** Where a line leaned on something that nobody has measured: a button, and then what became of it. */
export function Check({ run, making, part }: { run: Run; making: Making; part: string }) {
  const isAllowed = useAllowed("can_check");
  const [state, setState] = useState<State>("");
  const isEstimated = making.leaned_on?.some((reason) => !reason.measured) ?? false;
  if (!isAllowed || run.rehearsed || (!isEstimated && state === "")) return null;
  const check = () => {
    setState("measuring");
    request<TurnDocument>("check", { run: making.run, turn: making.turn, part }).then(
      (document) => (setState("measured"), replaceDocument(`runs/${encodeURIComponent(making.run)}/turns/${making.turn}`, document)),
      (error: Error) => setState({ problem: error.message }),
    );
  };
  const hasFailed = typeof state === "object";
  return (
    <div class="check">
      {isEstimated && (
        <button title="Measure how much less likely the line is without each item that it leaned on" disabled={state === "measuring"} onClick={check}>
          Check
        </button>
      )}
      <p class="small muted" role="status">{hasFailed ? "" : TOLD[state]}</p>
      {hasFailed && <p class="notice bad small data" role="alert">{state.problem}</p>}
    </div>
  );
}

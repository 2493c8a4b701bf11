/** Any other parameter of a fork. */

import { useId } from "preact/hooks";
import type { Run } from "../../documents";

/** A parameter that a fork may change, with its value in this run, as `--set` takes it. */
export interface Parameter {
  readonly name: string;
  readonly group: string;
  readonly value: string;
  readonly values: string;
  readonly choices: readonly string[];
  readonly default: string;
  readonly description: string;
}

/** Return the parameters of a run where no server lists those that may be changed: an exported file has no store. */
export function parametersOf(run: Run): readonly Parameter[] {
  const plain = Object.entries(run.parameters).filter(([, value]) => value === null || typeof value !== "object");
  return plain.map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return { name, group: "", value: text, values: "", choices: [], default: "", description: "" };
  });
}

export function Setting({ parameter, value, set, drop }: { parameter: Parameter; value: string; set: (value: string) => void; drop: () => void }) {
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
        <button onClick={drop} aria-label={`Leave as it is: ${name}`}>Leave as it is</button>
      </div>
      <p id={described} class="small muted data">{[description, values].filter(Boolean).join("; ")}</p>
    </div>
  );
}

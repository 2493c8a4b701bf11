/** The parts of willingness, weighted and stacked, against the threshold. */

import { Term } from "../../components/explained";
import { besides, number } from "../../format";
import { type Mind, type MindParameters, PARTS } from "./documents";

const LETTERS = { topic: "T", goal: "G", emotion: "E", personality: "P" } as const;

export function WillingnessBar({ mind, parameters }: { mind: Mind; parameters: MindParameters }) {
  const parts = mind.willingness_parts;
  if (parts === null || mind.willingness === null) return null;
  const weights = PARTS.reduce((sum, part) => sum + mind.weights[part], 0);
  const threshold = parameters.willingness_threshold;
  const end = Math.max(weights, threshold * 1.1);
  const share = (value: number) => `${(100 * value) / end}%`;
  const reached = `${besides(mind.willingness, threshold)} ${mind.willing ? "≥" : "<"} threshold ${threshold}`;
  return (
    <div class="willingness">
      <div class="stacked" role="img" aria-label={`${PARTS.map((part) => `${part} ${number(mind.weights[part] * parts[part])}`).join(", ")}; together ${reached}`}>
        {PARTS.map((part) => (
          <span key={part} class={`part ${part}`} style={{ width: share(mind.weights[part] * parts[part]) }}>
            {mind.weights[part] * parts[part] > end / 25 ? LETTERS[part] : ""}
          </span>
        ))}
        <span class="threshold" style={{ left: share(threshold) }} />
        <span class={`threshold-name number ${threshold > end * 0.7 ? "before" : ""}`} style={{ left: share(threshold) }}>threshold {threshold}</span>
      </div>
      <dl class="parts small number">
        {PARTS.map((part) => (
          <div key={part} class={part}>
            <dt><span class={`swatch part ${part}`}>{LETTERS[part]}</span> {part}</dt>
            <dd>{mind.weights[part]} × {number(parts[part])} = {number(mind.weights[part] * parts[part])}</dd>
            {mind.willingness_ratings && (
              <dd class="muted data">rated {mind.willingness_ratings[part].rating}: {mind.willingness_ratings[part].reason || "–"}</dd>
            )}
          </div>
        ))}
        <div><dt><b><Term of="willingness" /></b></dt><dd><b>{reached.replace("threshold ", "")}</b></dd></div>
      </dl>
    </div>
  );
}

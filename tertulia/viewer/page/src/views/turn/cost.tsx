/** What the calls of a turn took: calls, tokens and seconds, by agent and step. */

import { Prose } from "../../components/explained";
import { WithDocument } from "../../components/parts";
import type { Run } from "../../documents";
import { inWords, number } from "../../format";
import { useDocument } from "../../use_document";
import type { CostDocument } from "../turn_documents";

export function CostPane({ run, turn }: { run: Run; turn: number }) {
  const loaded = useDocument<CostDocument>(`runs/${encodeURIComponent(run.run)}/turns/${turn}/cost`);
  return <WithDocument of={loaded}>{(document) => <Cost run={run} document={document} />}</WithDocument>;
}

function Cost({ run, document }: { run: Run; document: CostDocument }) {
  const { cost, models, total } = document;
  const hasAgents = cost.some((row) => row.agent);
  const most = Math.max(...cost.map((row) => row.seconds ?? 0)) || 1;
  if (!total.calls) return <p>No model was called in this turn.</p>;
  return (
    <>
      <h3>Cost of this turn</h3>
      {run.rehearsed && <p class="small muted">Rehearsed: a stand-in answered, not a model. Tokens are the stand-in's, and there are no times.</p>}
      <div class="scroller" tabIndex={0} role="region" aria-label="Cost by step">
        <table class="cost">
          <thead>
            <tr>
              {hasAgents && <th scope="col">agent</th>}
              <th scope="col">step</th>
              {["calls", "tokens read", "tokens written", "seconds"].map((name) => <th key={name} scope="col" class="number"><Prose text={name} /></th>)}
            </tr>
          </thead>
          <tbody>
            {cost.map((row) => (
              <tr key={`${row.agent}/${row.node}`}>
                {hasAgents && <td class="data">{row.agent || "(the group)"}</td>}
                <th scope="row" class="data">{inWords(row.node)}</th>
                <Figures of={row} most={most} />
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              {hasAgents && <td />}
              <th scope="row">in all</th>
              <Figures of={total} most={0} />
            </tr>
          </tfoot>
        </table>
      </div>
      {models.length > 1 && (
        <ul class="small">
          {models.map((row) => (
            <li key={row.model}><span class="data">{row.model}</span>: {row.calls} calls, {row.prompt_tokens} + {row.reply_tokens} tokens, {number(row.seconds)} s</li>
          ))}
        </ul>
      )}
    </>
  );
}

function Figures({ of, most }: { of: CostDocument["total"]; most: number }) {
  return (
    <>
      {[of.calls, of.prompt_tokens, of.reply_tokens].map((count, place) => <td key={place} class="number">{count.toLocaleString("en")}</td>)}
      <td class="number time">
        {most > 0 && of.seconds !== null && <span class="bar" style={{ "--bar": of.seconds / most }} />}
        <span>{number(of.seconds)}</span>
      </td>
    </>
  );
}

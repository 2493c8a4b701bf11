/** What people agreed on in the days of a town, with what became of it. */

import { hrefOf } from "../router";

export interface TownAgreement {
  /** `meet`: to be somewhere at a time; `task`: the doer does something. */
  readonly kind: "meet" | "task";
  readonly people: readonly [string, string];
  readonly doer: string | null;
  readonly what: string;
  /** ISO 8601, without a time zone. */
  readonly time: string | null;
  readonly place: string | null;
  readonly turns: readonly [number, number];
  readonly run: string;
  readonly outcome: "kept" | "not kept" | "to come" | "to do";
  readonly why: string | null;
  /** The conversation in which it was kept. */
  readonly met: string | null;
}

export function Agreements({ agreements }: { agreements: readonly TownAgreement[] }) {
  if (!agreements.length) return null;
  return (
    <section class="stack">
      <h2>What was agreed on</h2>
      <div class="scroller" tabIndex={0} role="region" aria-label="What was agreed on">
        <table>
          <thead>
            <tr>
              <th scope="col">who</th><th scope="col">what</th><th scope="col">when</th><th scope="col">where</th><th scope="col">said</th>
              <th scope="col">what became of it</th>
            </tr>
          </thead>
          <tbody>
            {agreements.map((agreement, index) => <Row key={index} agreement={agreement} />)}
          </tbody>
        </table>
      </div>
      <p class="small muted">A model was asked after each conversation.</p>
    </section>
  );
}

function Row({ agreement }: { agreement: TownAgreement }) {
  const [first] = agreement.turns;
  return (
    <tr>
      <td>{agreement.people.join(" and ")}</td>
      <td class="data">{agreement.doer ? `${agreement.doer}: ` : ""}{agreement.what}</td>
      <td>{agreement.time ? agreement.time.slice(0, 16).replace("T", " ") : ""}</td>
      <td class="data">{agreement.place ?? ""}</td>
      <td><a href={hrefOf(["runs", agreement.run], { turn: first })}>turns {agreement.turns.join(" to ")}</a></td>
      <td>
        {agreement.met ? <a href={hrefOf(["runs", agreement.met])}>{agreement.outcome}</a> : agreement.outcome}
        {agreement.why && `: ${agreement.why}`}
      </td>
    </tr>
  );
}

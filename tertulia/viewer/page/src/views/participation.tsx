/** Who took part how much: words and utterances of everybody, and of a meeting the columns of Table II. */

import { scaleBand, scaleLinear } from "d3-scale";
import { Prose } from "../components/explained";
import { Plot, textWidth } from "../components/plot";
import { colourOf, shapeOf, Speaker } from "../components/speakers";
import type { Run } from "../documents";
import { counted, inWords, number, percent } from "../format";
import type { AgentFigures, Participation } from "./figures_documents";

interface Props {
  readonly run: string;
  readonly kind: Run["kind"];
  readonly people: readonly string[];
  readonly participation: Participation;
}

/** A column of the table: its heading, what the saved file calls it, and its value, which may be shown otherwise. */
type Column = readonly [heading: string, name: string, value: (agent: AgentFigures) => string | number | null, shown?: (agent: AgentFigures) => string];

const ALL: readonly Column[] = [
  ["utterances", "spoken", ({ spoken }) => spoken],
  ["words", "words", ({ words }) => words],
  ["speaking time", "speaking_time_s", ({ speaking_time_s }) => speaking_time_s, ({ speaking_time_s }) => (speaking_time_s === null ? "–" : `${number(speaking_time_s, 1)} s`)],
  ["of utterances", "share_of_utterances", (agent) => agent.share_of_utterances, (agent) => percent(agent.share_of_utterances)],
  ["of the time", "share_of_speaking_time", (agent) => agent.share_of_speaking_time, (agent) => percent(agent.share_of_speaking_time)],
];

const OF_MEETINGS: readonly Column[] = [
  ["wanting to speak", "wanting_to_speak", (agent) => agent.wanting_to_speak],
  ["silent", "silent", ({ silent }) => silent],
  ["decisions", "decisions", ({ decisions }) => decisions],
  ["wanting after silence", "wanting_after_silence", (agent) => agent.wanting_after_silence],
  ["speaking after silence", "speaking_after_silence", (agent) => agent.speaking_after_silence],
  ["longest unwilling", "longest_unwilling", (agent) => agent.longest_unwilling],
  ["latency", "latency", ({ latency }) => latency?.class ?? (latency ? `${latency.scale_s}` : null), ({ latency }) => (latency ? `${latency.class ? `${inWords(latency.class)}, ` : ""}${number(latency.scale_s)} s` : "–")],
];

export function ParticipationFigures({ run, kind, people, participation }: Props) {
  const { agents, silences, silence_s, sim_minutes, evenness } = participation;
  const mechanisms = [...new Set(agents.flatMap((agent) => Object.keys(agent.mechanisms ?? {})))];
  const onOff = mechanisms.map((name): Column => {
    const counts = (agent: AgentFigures) => agent.mechanisms?.[name];
    return [inWords(name), `${name}_on`, (agent) => counts(agent)?.on ?? null, (agent) => (counts(agent) ? `${counts(agent)!.on} on, ${counts(agent)!.off} off` : "–")];
  });
  const columns = kind === "group_chat" ? [...ALL, ...OF_MEETINGS, ...onOff] : ALL;
  return (
    <section class="stack">
      <h2>Participation</h2>
      <p class="small muted">
        {counted(participation.turns, "turn")}{sim_minutes !== null && ` in ${number(sim_minutes, 1)} simulated minutes`}
        {silences > 0 && `; ${counted(silences, "silence")}, ${number(silence_s, 0)} s together`}; evenness of the utterances {number(evenness)}
        {evenness !== null && " (1: all spoke equally often)"}
      </p>
      <Bars run={run} people={people} agents={agents} columns={columns} />
      <div class="scroller" tabIndex={0} role="region" aria-label="Participation">
        <table>
          <thead>
            <tr>
              <th scope="col">who</th>
              {columns.map(([heading, name]) => <th key={name} scope="col" class="number"><Prose text={heading} /></th>)}
            </tr>
          </thead>
          <tbody>
            {agents.map((agent) => (
              <tr key={agent.agent}>
                <th scope="row"><Speaker people={people} name={agent.agent} /></th>
                {columns.map(([, name, value, shown]) => <td key={name} class="number">{shown ? shown(agent) : (value(agent) ?? "–")}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const BAR = 30;
const MOST_BARS = 30;

function Bars({ run, people, agents, columns }: { run: string; people: readonly string[]; agents: readonly AgentFigures[]; columns: readonly Column[] }) {
  const drawn = agents.slice(0, MOST_BARS);
  const shown = (name: string) => (name.length > 20 ? `${name.slice(0, 19)}…` : name);
  const left = Math.min(170, 28 + Math.max(40, ...drawn.map(({ agent }) => textWidth(shown(agent)))));
  return (
    <Plot
      title="Words of everybody"
      name={`${run}-participation`}
      note={`words in all, and utterances${agents.length > drawn.length ? `; the first ${drawn.length} of ${agents.length} people; the table has all` : ""}`}
      columns={["agent", ...columns.map(([, name]) => name)]}
      rows={agents.map((agent) => [agent.agent, ...columns.map(([, , value]) => value(agent))])}
      width={760}
      height={drawn.length * BAR + 8}
    >
      {(width, height) => {
        const x = scaleLinear([0, Math.max(1, ...drawn.map(({ words }) => words ?? 0))], [left, width - 160]);
        const y = scaleBand<number>(drawn.map((_, index) => index), [4, height - 4]).padding(0.25);
        return drawn.map(({ agent, words, spoken }, index) => (
          <g key={agent} transform={`translate(0 ${y(index)})`}>
            <path transform={`translate(2 ${y.bandwidth() / 2 - 6})`} d={shapeOf(people, agent)} style={{ fill: colourOf(people, agent) }} />
            <text x={20} y={y.bandwidth() / 2} dy="0.32em">{shown(agent)}</text>
            <rect x={left} width={Math.max(1, x(words ?? 0) - left)} height={y.bandwidth()} rx="2" style={{ fill: colourOf(people, agent) }} />
            <text x={x(words ?? 0) + 6} y={y.bandwidth() / 2} dy="0.32em">{words ?? "–"} words, {counted(spoken, "utterance")}</text>
          </g>
        ));
      }}
    </Plot>
  );
}

/** The candidates of an utterance: their texts, what the judge found, and why one of them was said. */

import { Prose, Term } from "../../components/explained";
import { Spoken } from "../../components/spoken";
import { counted, inWords, number } from "../../format";
import type { Candidate, Making } from "../turn_documents";
import { fateOf, figure, judgedInWords, measureInWords, titleOf } from "./candidate_words";
import { LongText } from "./long_text";

export function CandidatesPane({ making }: { making: Making }) {
  const figures = making.candidates.flatMap(({ inconsistency, inconsistency_runs }) => [inconsistency ?? 0, ...inconsistency_runs]);
  const [low, high] = [Math.min(0, making.threshold ?? 0, ...figures), Math.max(0, making.threshold ?? 0, ...figures)];
  const free = (high - low || 1) * 0.05;
  const [least, most] = [low - free, high + free];
  return (
    <>
      <h3>{counted(making.candidates.length, "candidate")}</h3>
      <p class="small"><Prose text={judgedInWords(making)} /></p>
      <ol class="candidates">
        {chosenFirst(making.candidates).map((candidate) => (
          <CandidateRow key={candidate.attempt} candidate={candidate} making={making} least={least} most={most} />
        ))}
      </ol>
    </>
  );
}

/** Return candidates with the one that was said first; the others stay in their order. */
function chosenFirst(candidates: readonly Candidate[]): readonly Candidate[] {
  return [...candidates].sort((a, b) => Number(b.chosen) - Number(a.chosen));
}

interface RowProps {
  readonly candidate: Candidate;
  readonly making: Making;
  readonly least: number;
  readonly most: number;
}

function CandidateRow(props: RowProps) {
  const { candidate, making } = props;
  const { origin, chosen, inconsistency } = candidate;
  const title = titleOf(candidate, making);
  if (chosen) {
    return (
      <li class="candidate card stack chosen">
        <div class="row">
          <h4>{title}</h4>
          <span class="tag">{inWords(origin)}</span>
          <span class="tag good">→ said</span>
          <span class="small muted">{fateOf(candidate, making)}</span>
        </div>
        <Details {...props} />
      </li>
    );
  }
  return (
    <li class="candidate card">
      <details>
        <summary>
          <b>{title}</b> <span class="tag">{inWords(origin)}</span>
          {inconsistency !== null && <span class="number small"> {figure(inconsistency)}</span>}{" "}
          <span class="small muted">{fateOf(candidate, making)}</span>
          <span class="words first data"><Spoken text={candidate.text} parts={candidate.spoken} /></span>
        </summary>
        <div class="stack"><Details {...props} /></div>
      </details>
    </li>
  );
}

/** What is known of a candidate. */
function Details({ candidate, making, least, most }: RowProps) {
  return (
    <>
      <p class="words"><LongText text={candidate.text} parts={candidate.spoken} most={2000} /></p>
      {candidate.as_written !== null && <p class="small muted">as written: <LongText text={candidate.as_written} /></p>}
      {candidate.thought && (
        <details class="small thought">
          <summary>Thought before it, and not said</summary>
          <p><LongText text={candidate.thought} most={4000} /></p>
        </details>
      )}
      {candidate.inconsistency !== null && <Judged candidate={candidate} threshold={making.threshold} least={least} most={most} />}
      <Written candidate={candidate} />
      {candidate.rewritable !== null && (
        <p class="small">What was removed {candidate.rewritable ? "suffices" : "does not suffice"} to rewrite it.</p>
      )}
      {candidate.faults && candidate.faults.length > 0 && <p class="small">It makes no sense here: {candidate.faults.join("; ")}.</p>}
      {candidate.comment && <p class="small comment"><span class="muted">The judge:</span> <LongText text={candidate.comment} most={1000} /></p>}
      {candidate.information !== null && (
        <p class="small muted">{measureInWords(making)}: <span class="number">{number(candidate.information, 3)}</span> <Term of="nats" /> a <Term of="token" /></p>
      )}
    </>
  );
}

/** What a candidate was drawn by, its stated probability or its random string, and how these were read. */
function Written({ candidate: { probability, string_seed, remark } }: { candidate: Candidate }) {
  const told = [
    probability === null ? "" : `stated probability ${number(probability, 3)}`,
    string_seed ? `random string: ${string_seed}` : "",
    remark ?? "",
  ].filter(Boolean);
  return told.length > 0 ? <p class="small muted">{told.join("; ")}</p> : null;
}

/** The figures of the judge's runs as dots, and their mean, against the threshold. */
function Judged({ candidate, threshold, least, most }: { candidate: Candidate; threshold: number | null; least: number; most: number }) {
  const at = (figure: number) => ((figure - least) / (most - least)) * 100;
  const { inconsistency, inconsistency_runs: runs } = candidate;
  return (
    <div class="judged small">
      <p>
        <Term of="inconsistency" /> <b class="number">{figure(inconsistency, threshold)}</b>
        {runs.length > 1 && <span class="muted number"> ({runs.map(figure).join(", ")})</span>}
        {threshold !== null && <span class="number">, {inconsistency! > threshold ? "above" : "not above"} the threshold {figure(threshold, inconsistency)}</span>}
      </p>
      <svg class="dots" width="100%" height="38" role="img" aria-label={`Inconsistency ${figure(inconsistency)}, threshold ${figure(threshold)}`}>
        <line class="axis" x1="0" x2="100%" y1="24" y2="24" />
        {threshold !== null && (
          <>
            <line class="threshold" x1={`${at(threshold)}%`} x2={`${at(threshold)}%`} y1="12" y2="36" />
            <text x={`${at(threshold)}%`} y="9" text-anchor="middle">threshold</text>
          </>
        )}
        {runs.map((run, place) => <circle key={place} cx={`${at(run)}%`} cy="24" r="4" />)}
        <line class="mean" x1={`${at(inconsistency!)}%`} x2={`${at(inconsistency!)}%`} y1="15" y2="33" />
      </svg>
    </div>
  );
}

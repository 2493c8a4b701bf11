/** What differs in a turn of two runs besides its words: units, scores, minds, and the rest in the words of `diff`. */

import { useState } from "preact/hooks";
import { Term } from "../components/explained";
import { besides, inWords } from "../format";
import { useDocument } from "../use_document";
import type { Comparison, Mind, TurnDifference } from "./compare_documents";

interface Unit {
  readonly id: string;
  readonly text: string;
}

interface TurnUnits {
  readonly units: readonly Unit[];
}

/** Subjects of `diff` that have a list or a table here. */
const LISTED = ["removed", "scores"];
const LONG = 2000;
const UNITS_SHOWN = 12;

/** A text, of a long one the beginning until more is asked for. */
export function LongText({ text, limit = LONG }: { text: string; limit?: number }) {
  const [isWhole, showWhole] = useState(false);
  if (isWhole || text.length <= limit + 100) return <>{text}</>;
  return (
    <>
      {text.slice(0, limit)}…{" "}
      <button class="plain" onClick={() => showWhole(true)}>Show all {text.length.toLocaleString("en")} characters</button>
    </>
  );
}

export function TurnDetails({ compared, difference }: { compared: Comparison; difference: TurnDifference }) {
  const { turn, what, minds, removed_only_in_a: onlyA = [], removed_only_in_b: onlyB = [], scores } = difference;
  const agents = new Set(minds.map(({ agent }) => agent));
  const lines = what.filter(([subject, words]) => !LISTED.includes(subject) && !(subject === "" && agents.has(words.split(": ")[0]!)));
  // What has no list stands in words: a removal in another order, scores of other units.
  const rest = what.filter(([subject]) => (subject === "removed" && !onlyA.length && !onlyB.length) || (subject === "scores" && !scores.length));
  const isRead = onlyA.length + onlyB.length + scores.length > 0;
  const texts = useTexts(compared, isRead ? turn : null);
  if (difference.only_in) return null;
  return (
    <div class="details">
      {lines.length + rest.length > 0 && (
        <dl class="what">
          {[...lines, ...rest].map(([subject, words], index) => (
            <div key={index}><dt>{subject}</dt><dd class="data"><LongText text={words} limit={400} /></dd></div>
          ))}
        </dl>
      )}
      {onlyA.length + onlyB.length > 0 && (
        <div class="sides">
          <Removed name="A" units={onlyA} texts={texts} />
          <Removed name="B" units={onlyB} texts={texts} />
        </div>
      )}
      {scores.length > 0 && <Scores scores={scores} texts={texts} />}
      {minds.length > 0 && <Minds minds={minds} />}
    </div>
  );
}

/** Return the texts of the units of a turn in both runs, as far as they have been read. */
function useTexts({ a, b }: Comparison, turn: number | null): ReadonlyMap<string, string> {
  const path = (run: string) => (turn === null || turn === 0 ? null : `runs/${encodeURIComponent(run)}/turns/${turn}`);
  const read = [useDocument<TurnUnits>(path(a.run)), useDocument<TurnUnits>(path(b.run))];
  return new Map(read.flatMap((one) => (one.state === "ready" ? one.value.units.map((unit) => [unit.id, unit.text] as const) : [])));
}

function Removed({ name, units, texts }: { name: string; units: readonly string[]; texts: ReadonlyMap<string, string> }) {
  const [isAll, showAll] = useState(false);
  const shown = isAll ? units : units.slice(0, UNITS_SHOWN);
  return (
    <section class="stack" aria-label={`Removed only in ${name}`}>
      <h4><span class={`side-${name}`}>{name}</span> removed only in {name}: {units.length}</h4>
      {units.length > 0 && (
        <ul class="units">
          {shown.map((unit) => (
            <li key={unit} title={unit}><UnitInWords id={unit} text={texts.get(unit)} limit={300} /></li>
          ))}
        </ul>
      )}
      {shown.length < units.length && <p><button class="plain small" onClick={() => showAll(true)}>Show all {units.length}</button></p>}
    </section>
  );
}

/** A unit by its words, with its id behind them; by its id alone where its words are not known. */
function UnitInWords({ id, text, limit }: { id: string; text: string | undefined; limit: number }) {
  const words = text?.trim();
  if (!words) return <span class="code data">{id}</span>;
  return <><span class="data unit-words"><LongText text={words.replace(/^[-*•]\s+/, "")} limit={limit} /></span> <span class="code data muted unit-id">{id}</span></>;
}

function Scores({ scores, texts }: { scores: TurnDifference["scores"]; texts: ReadonlyMap<string, string> }) {
  return (
    <section class="stack">
      <h4>Scores of λ that differ most</h4>
      <div class="scroller" tabIndex={0} role="region" aria-label="Scores of λ that differ most">
        <table>
          <thead>
            <tr><th scope="col">unit</th><th scope="col" class="number">A</th><th scope="col" class="number">B</th></tr>
          </thead>
          <tbody>
            {scores.map(({ unit, a, b }) => (
              <tr key={unit}>
                <th scope="row" title={unit}><UnitInWords id={unit} text={texts.get(unit)} limit={120} /></th>
                {toldApart(a, b).map((score, place) => <td key={place} class="number">{score}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Return two scores with four digits, or with as many as tell them apart. */
function toldApart(a: number, b: number): readonly string[] {
  const told = Array.from({ length: 14 }, (_, more) => [a, b].map((score) => score.toPrecision(4 + more)));
  return told.find(([of_a, of_b]) => of_a !== of_b) ?? told[0]!;
}

function Minds({ minds }: { minds: readonly Mind[] }) {
  const both = ([a, b]: readonly [number | null, number | null]) => (
    <>
      <td class="number">{besides(a, b)}</td>
      <td class="number">{a === b ? "same" : besides(b, a)}</td>
    </>
  );
  return (
    <section class="stack">
      <h4><Term of="mind">Minds</Term> that differ</h4>
      <div class="scroller" tabIndex={0} role="region" aria-label="Minds that differ">
        <table>
          <thead>
            <tr>
              <th scope="col">who</th>
              <th scope="col" class="number"><Term of="willingness" /> A</th>
              <th scope="col" class="number">B</th>
              <th scope="col" class="number"><Term of="latency" /> in s A</th>
              <th scope="col" class="number">B</th>
              <th scope="col"><Term of="mechanism">mechanisms</Term> on only in A</th>
              <th scope="col">only in B</th>
            </tr>
          </thead>
          <tbody>
            {minds.map((mind) => (
              <tr key={mind.agent}>
                <th scope="row" class="data">{mind.agent}</th>
                {both(mind.willingness)}
                {both(mind.latency_s)}
                <td>{mind.only_in_a.map(inWords).join(", ") || "–"}</td>
                <td>{mind.only_in_b.map(inWords).join(", ") || "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

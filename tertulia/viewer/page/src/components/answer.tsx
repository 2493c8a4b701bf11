/** The answer above every turn: why it is what it is, in a sentence or two, and what its line leaned on. */

import "../styles/answer.css";
import type { Run } from "../documents";
import { counted, lambda } from "../format";
import { barsOf, reasonInWords } from "../leaning";
import { hrefOf } from "../router";
import type { Making, TurnDocument } from "../views/turn_documents";
import { Check } from "./check";
import { Prose } from "./explained";
import { type PictureOfExchange, Thumbnail } from "./thumbnail";

/** How many units stand below the sentence. */
const MOST = 3;

interface Props {
  readonly run: Run;
  readonly document: TurnDocument;
  readonly making: Making;
  /** The name of the part of an exchange that is shown; empty for the turn's own utterance. */
  readonly part: string;
  readonly withUnits: boolean;
}

/** The sentence of a turn and, where its prompt is out of sight, the units that its line leaned on. */
export function Answer({ run, document, making, part, withUnits }: Props) {
  if (!document.why) return null; // the document is from an older program
  const ofPart = making !== document && making.why ? making.why : null;
  return (
    <section class="answer" aria-label="Why">
      <div class="said-why">
        {document.exchange && <ChosenPicture run={document.run} picture={document.exchange.picture} />}
        <div class="stack">
          <Sentence text={document.why} />
          {ofPart && <Sentence text={ofPart} />}
        </div>
        <Check key={`${document.run} ${document.turn} ${part}`} run={run} turn={making.turn} leanedOn={making.leaned_on} part={part} what="the line" label="Check" />
      </div>
      {withUnits && <LeanedOn making={making} />}
    </section>
  );
}

/** The picture that an exchange was about, which leads to its journey; in words where the store has no file of it. */
function ChosenPicture({ run, picture }: { run: string; picture: PictureOfExchange }) {
  if (!picture.file) return <Thumbnail run={run} picture={picture} saysNone />;
  return (
    <a class="chosen-picture" href={hrefOf(["runs", run, "album"], { picture: picture.id })}>
      <span class="visually-hidden">The journey of the picture: </span>
      <Thumbnail run={run} picture={picture} />
    </a>
  );
}

/** A sentence with its terms explained, and what it quotes in the type of words. */
function Sentence({ text }: { text: string }) {
  return <p class="data why">{text.split(/(“[^”]*”)/).map((part, place) => (place % 2 ? <span key={place} class="quote">{part}</span> : <Prose key={place} text={part} />))}</p>;
}

/** The units that the line leaned on, most first, and what λ had taken away; nothing where there are none. */
function LeanedOn({ making }: { making: Making }) {
  const scores = new Map(making.units.map((unit) => [unit.id, unit.line_score ?? 0]));
  const leaned = (making.leaned_on ?? []).slice(0, MOST).map((reason) => ({ reason, score: scores.get(reason.unit) ?? 0 }));
  if (!leaned.length) return null;
  const bars = barsOf(leaned);
  return (
    <>
      <ol aria-label="What the line leaned on">
        {leaned.map((weighed, place) => (
          <li key={weighed.reason.unit} title={weighed.reason.text}>
            <span class="bar-room"><span class="bar" style={{ width: `${100 * bars[place]!}%` }} /></span>
            <span class="text data">{weighed.reason.text.replace(/^- /, "")}</span>
            <span class="small number">{reasonInWords(weighed)}</span>
          </li>
        ))}
      </ol>
      <Taken making={making} />
    </>
  );
}

/** What λ had taken away, which is not what the line leaned on. */
function Taken({ making: { removal_factor, removal, removed_items, units } }: { making: Making }) {
  if (!removal_factor || (removal.retained !== null && removal.factor === null)) return null;
  const removable = units.filter((unit) => unit.removable).length;
  return (
    <p class="small muted">
      λ = <b class="number">{lambda(removal_factor)}</b> took {removed_items ? `${removed_items} of ${counted(removable, "item")}` : "nothing"} away
    </p>
  );
}

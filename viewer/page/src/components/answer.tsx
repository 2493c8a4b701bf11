/** The answer above every turn: why it is what it is, in a sentence or two, and the heaviest units of its prompt. */

import "../styles/answer.css";
import { inWords, lambda, percent } from "../format";
import { heaviestOf } from "../heaviest";
import { hrefOf } from "../router";
import type { Making, TurnDocument } from "../views/turn_documents";
import { type PictureOfExchange, Thumbnail } from "./thumbnail";

/** How many of the heaviest units stand below the sentence. */
const MOST = 3;

/** The sentence of a turn and, where its prompt is out of sight, the heaviest units with λ. */
export function Answer({ document, making, withUnits }: { document: TurnDocument; making: Making; withUnits: boolean }) {
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
      </div>
      {withUnits && <Heaviest making={making} />}
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

/** A sentence, with what it quotes in the type of words. */
function Sentence({ text }: { text: string }) {
  return <p class="data why">{text.split(/(“[^”]*”)/).map((part, place) => (place % 2 ? <span key={place} class="quote">{part}</span> : part))}</p>;
}

/** The units that were most attended, heaviest first, each with a bar and its share beside it. */
function Heaviest({ making }: { making: Making }) {
  const units = heaviestOf(making.units, MOST);
  if (!units.length) return null;
  const highest = units[0]!.share;
  return (
    <div class="heaviest">
      <p class="small muted">
        Most attended of what λ may remove{making.removal_factor !== null && <>, λ = <b class="number">{lambda(making.removal_factor)}</b></>}
      </p>
      <ol>
        {units.map(({ unit, share }) => (
          <li key={unit.id} class={unit.removed ? "gone" : ""} title={unit.text}>
            <span class="bar-room"><span class="bar" style={{ width: `${(100 * share) / highest}%` }} /></span>
            <span class="number share">{percent(share, 1)}</span>
            <span class="text data">{unit.text.replace(/^- /, "")}</span>
            <span class="small muted block">{unit.removed ? "removed" : inWords(unit.block)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

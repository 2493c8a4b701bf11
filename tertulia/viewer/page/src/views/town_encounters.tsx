/** The encounters of a town as a list: who met whom, when and where, and the first line of their conversation. */

import { useState } from "preact/hooks";
import { Speaker } from "../components/speakers";
import { counted } from "../format";
import { hrefOf } from "../router";
import { LongText } from "./compare_turn";
import type { Encounter, Town } from "./town_documents";

const SHOWN = 60;

/** The encounters of a day, or of all (`day` is null). */
export function Encounters({ town, day, encounters }: { town: Town; day: number | null; encounters: readonly Encounter[] }) {
  const [shown, show] = useState(SHOWN);
  return (
    <section class="stack">
      <h2>{day === null ? "Encounters of all days" : `Encounters of day ${day}`}</h2>
      <ol class="encounters">
        {encounters.slice(0, shown).map((encounter) => (
          <Conversation key={`${encounter.day} ${encounter.number}`} town={town} encounter={encounter} isOfAll={day === null} />
        ))}
      </ol>
      {encounters.length > shown && <p><button onClick={() => show(shown + 4 * SHOWN)}>Show more of {counted(encounters.length, "encounter")}</button></p>}
    </section>
  );
}

/** An encounter, with a link to its conversation. */
export function Conversation({ town, encounter, isOfAll = false }: { town: Town; encounter: Encounter; isOfAll?: boolean }) {
  return (
    <li class="stack">
      <span class="row small">
        <span class="number">{isOfAll && `day ${encounter.day}, `}<span class="met-number">{encounter.number}</span> {encounter.time.slice(11, 16)}</span>
        <span class="data muted">{encounter.place ?? ""}</span>
      </span>
      <span class="row">
        <Speaker people={town.people} name={encounter.initiator} />
        <span class="muted">{encounter.appointment ? "meets, as agreed," : "meets"}</span>
        <Speaker people={town.people} name={encounter.partner} />
      </span>
      {encounter.first_line !== null && <span class="data">“{encounter.first_line}”</span>}
      <Activities encounter={encounter} />
      {encounter.run
        ? <a class="small" href={hrefOf(["runs", encounter.run])}>{counted(encounter.turns, "turn")} <span class="code data">{encounter.run}</span></a>
        : <span class="small muted">their conversation has not started</span>}
    </li>
  );
}

function Activities({ encounter }: { encounter: Encounter }) {
  const [first, second] = encounter.activities;
  if (!first && !second) return null;
  const line = (name: string, activity: string | null) => activity && <><span class="data">{name}</span> was <span class="data"><LongText text={activity} limit={300} /></span>. </>;
  return <span class="small muted">{line(encounter.initiator, first)}{line(encounter.partner, second)}</span>;
}

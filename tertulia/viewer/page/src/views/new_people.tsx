/** Who takes part in a conversation that is begun: a shipped scenario, people of files, or people who are typed. */

import { WithDocument } from "../components/parts";
import { listed } from "../format";
import { useDocument } from "../use_document";
import { type Draft, isBlank, MOST_TYPED, NOBODY, shownTyped, thisHour, type Typed } from "./new_draft";
import { Field, type Problem, TextField } from "./new_fields";
import { BringButton, type Bringing, type People, Read } from "./people";

/** A shipped scenario, as the document `new` has it. */
export interface Case {
  readonly scenario: string;
  readonly title: string | null;
  readonly people: readonly string[];
  readonly place: string | null;
  readonly time: string;
}

export interface PeopleProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  readonly problem: Problem | null;
}

/** Names that a line about a scenario has. */
const NAMED = 4;

const peopleOf = ({ people }: Case) => (people.length > NAMED ? `${people.slice(0, NAMED).join(", ")} and ${people.length - NAMED} more` : listed(people));

export function ShippedPeople({ draft, change, problem, cases }: PeopleProps & { cases: readonly Case[] }) {
  const groups = [...new Set(cases.map(({ scenario }) => scenario.replace(/:.*/, "")))];
  const chosen = cases.find(({ scenario }) => scenario === draft.scenario);
  const option = (found: Case) => <option key={found.scenario} value={found.scenario}>{found.title ?? `${peopleOf(found)}: ${found.place}, ${found.time.slice(0, 16)}`}</option>;
  return (
    <>
      <Field name="scenario" label="Scenario" problem={problem}>
        {(attributes) => (
          <select {...attributes} value={draft.scenario} onChange={(event) => change({ scenario: event.currentTarget.value })}>
            {groups.map((group) => {
              const inside = cases.filter(({ scenario }) => scenario.replace(/:.*/, "") === group);
              return inside.length > 1 ? <optgroup key={group} label={group}>{inside.map(option)}</optgroup> : option(inside[0]!);
            })}
          </select>
        )}
      </Field>
      {chosen && (
        <p class="small data">
          {peopleOf(chosen)}{chosen.place && `, ${chosen.place}`}, {chosen.time.slice(0, 16)}
        </p>
      )}
    </>
  );
}

export function OwnPeople({ draft, change, problem, bringing }: PeopleProps & { bringing: Bringing }) {
  const { files } = bringing;
  const people = useDocument<People>(files.length ? `people?files=${files.join(",")}` : null);
  const typed = shownTyped(draft.typed, files.length > 0);
  const set = (place: number, person: Typed) => change({ typed: typed.map((other, at) => (at === place ? person : other)) });
  const remove = (place: number) => change({ typed: typed.filter((_, at) => at !== place) });
  const found = people.state === "ready" ? people.value : null;
  const isAlone = found !== null && found.visitor !== null && typed.every(isBlank);
  return (
    <>
      {files.length > 0 && <WithDocument of={people}>{(found) => <Brought people={found} bringing={bringing} />}</WithDocument>}
      {problem?.fields.files && <p class="wrong small" role="alert">{problem.fields.files}</p>}
      {typed.length > 0 && <div class="new-people">{typed.map((person, place) => (
        <TypedPerson
          key={place}
          place={place}
          person={person}
          problem={problem}
          set={(person) => set(place, person)}
          remove={files.length > 0 || typed.length > 2 ? () => remove(place) : null}
        />
      ))}</div>}
      <p class="row">
        {typed.length < MOST_TYPED && <button type="button" onClick={() => change({ typed: [...typed, NOBODY] })}>Add a person</button>}
        <BringButton bring={bringing.bring} />
        <span class="small muted">or drop files here: character cards, personas, tables, scenarios</span>
      </p>
      <div role="alert" class="people-problems stack">{bringing.problems.map((words) => <p key={words} class="wrong data small">{words}</p>)}</div>
      <p role="status" class="small people-reading">{bringing.reading && <>Reading <bdi class="data">{bringing.reading}</bdi>…</>}</p>
      {isAlone && (
        <TextField name="visitor" label="You are" problem={problem} value={draft.visitor ?? found.visitor ?? ""} set={(visitor) => change({ visitor })}
          note={`You speak with ${found.people[0]?.name ?? "them"}: a seat is kept for you.`} />
      )}
      <div class="new-scene">
        <TextField name="place" label="Place" problem={problem} value={draft.place ?? found?.place ?? ""} set={(place) => change({ place })} />
        <Field name="time" label="Date and time" problem={problem}>
          {(attributes) => (
            <input {...attributes} type="datetime-local" value={draft.time ?? found?.time ?? thisHour()} onInput={(event) => change({ time: event.currentTarget.value })} />
          )}
        </Field>
      </div>
      <TextField name="situation" label="Situation, as all of them know it" rows={2} problem={problem} value={draft.situation ?? found?.situation ?? ""}
        placeholder="They meet and talk." set={(situation) => change({ situation })} />
    </>
  );
}

function Brought({ people, bringing: { files, show } }: { people: People; bringing: Bringing }) {
  return (
    <section class="stack" aria-label="People who were brought">
      <p class="row">
        {people.files.map(({ id, name }) => (
          <span key={id} class="tag people-file">
            <bdi class="data">{name}</bdi>
            <button type="button" class="plain" aria-label={`Take ${name} away`} title="Take away" onClick={() => show(files.filter((file) => file !== id))}>×</button>
          </span>
        ))}
      </p>
      <div class="people-read stack" role="group" aria-label="As they were read" tabIndex={0}>
        {people.people.map((person, place) => <Read key={place} person={person} isOpen={people.people.length <= 2} />)}
        {people.more > 0 && <p class="muted small">and {people.more.toLocaleString("en")} more people</p>}
      </div>
      {people.problem !== null && <p class="wrong data small" role="alert">{people.problem}</p>}
    </section>
  );
}

interface TypedProps {
  readonly place: number;
  readonly person: Typed;
  readonly problem: Problem | null;
  readonly set: (person: Typed) => void;
  readonly remove: (() => void) | null;
}

function TypedPerson({ place, person, problem, set, remove }: TypedProps) {
  const at = `typed.${place}`;
  return (
    <fieldset class="new-person stack">
      <legend>
        Person {place + 1}
        {remove && <button type="button" class="plain small" aria-label={`Take person ${place + 1} away`} onClick={remove}>Take away</button>}
      </legend>
      <TextField name={`${at}.name`} label="Name" problem={problem} value={person.name} set={(name) => set({ ...person, name })} />
      <TextField name={`${at}.who`} label={<>Who they are <span class="muted">(a fact a line)</span></>} rows={3} problem={problem} value={person.who} set={(who) => set({ ...person, who })} />
      <TextField name={`${at}.memories`} label={<>What they remember <span class="muted">(a memory a line, or none)</span></>} rows={3} problem={problem} value={person.memories} set={(memories) => set({ ...person, memories })} />
    </fieldset>
  );
}

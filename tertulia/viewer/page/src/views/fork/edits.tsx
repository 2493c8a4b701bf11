/** What a fork changes besides parameters: the line of its first turn, people, their memories, mechanisms, a label. */

import { useLayoutEffect, useState } from "preact/hooks";
import { WithDocument } from "../../components/parts";
import type { Run } from "../../documents";
import { sentenceOf } from "../../terms";
import { useDocument } from "../../use_document";
import { type Edit, type Edited, editedOf, type EditsDocument, type Person, type Said, UNEDITED } from "./edit_list";
import { howInWords, typedOf } from "./person_fields";

export { type Edited, UNEDITED };

interface Props {
  readonly run: Run;
  readonly at: number;
  readonly said: Said | null;
  readonly tell: (edited: Edited) => void;
}

export function Edits(props: Props) {
  const document = useDocument<EditsDocument>(`runs/${encodeURIComponent(props.run.run)}/edits`);
  return <WithDocument of={document}>{(document) => <List {...props} document={document} />}</WithDocument>;
}

let keys = 0;

function List({ at, said, tell, document }: Props & { document: EditsDocument }) {
  const [edits, setEdits] = useState<readonly Edit[]>([]);
  useLayoutEffect(() => tell(editedOf(edits, document, said)), [edits]);
  const set = (changed: Edit) => setEdits(edits.map((edit) => (edit.key === changed.key ? changed : edit)));
  const whom = document.people.some(({ name }) => name === said?.speaker) ? said!.speaker : document.people[0]!.name;
  const kinds = kindsOf(document, said, at, edits);
  return (
    <>
      <div class="row">
        <select
          aria-label="Edit the line, a person or a memory"
          value=""
          onChange={(event) => {
            const kind = event.currentTarget.value as Edit["kind"];
            if (kind in kinds) setEdits([...edits, newEdit(kind, whom, document, said)]);
          }}
        >
          <option value="">edit the line, a person, a memory…</option>
          {Object.entries(kinds).map(([kind, words]) => <option key={kind} value={kind}>{words}</option>)}
        </select>
      </div>
      {edits.map((edit) => (
        <fieldset key={edit.key} class="edit stack">
          <legend>{TITLES[edit.kind](at)}</legend>
          <Fields edit={edit} set={set} document={document} />
          <div><button onClick={() => setEdits(edits.filter(({ key }) => key !== edit.key))} aria-label={`Leave as it is: ${TITLES[edit.kind](at)}`}>Leave as it is</button></div>
        </fieldset>
      ))}
    </>
  );
}

const TITLES: Readonly<Record<Edit["kind"], (at: number) => string>> = {
  say: (at) => `The line of turn ${at}`,
  person: () => "A person",
  remember: () => "A new memory",
  forget: () => "A memory taken away",
  mechanisms: () => "Mechanisms",
  label: () => "What the fork is called",
};

/** Return what can be edited yet, with its words: the line, the mechanisms and the label once. */
function kindsOf(document: EditsDocument, said: Said | null, at: number, edits: readonly Edit[]): Partial<Record<Edit["kind"], string>> {
  const isOnce = (kind: Edit["kind"]) => !edits.some((edit) => edit.kind === kind);
  return {
    ...(document.can_say && said && isOnce("say") ? { say: `the line of turn ${at}` } : {}),
    person: "a person: their goals, mood, secret…",
    ...(document.can_remember ? { remember: "give somebody a memory" } : {}),
    ...(document.people.some(({ memories }) => memories.length) ? { forget: "take a memory away" } : {}),
    ...(document.mechanisms.length && isOnce("mechanisms") ? { mechanisms: "what agents may switch on" } : {}),
    ...(isOnce("label") ? { label: "what the fork is called" } : {}),
  };
}

function newEdit(kind: Edit["kind"], name: string, document: EditsDocument, said: Said | null): Edit {
  const key = (keys += 1);
  const person = document.people.find((person) => person.name === name)!;
  const remembering = [person, ...document.people].find(({ memories }) => memories.length);
  if (kind === "say") return { key, kind, text: said?.text ?? "" };
  if (kind === "person") return { key, kind, name, field: person.fields[0]!.name, typed: typedOf(person.fields[0]!) };
  if (kind === "remember") return { key, kind, name, text: "" };
  if (kind === "forget") return { key, kind, name: remembering!.name, memory: remembering!.memories[0]!.id };
  if (kind === "mechanisms") return { key, kind, on: document.mechanisms_on };
  return { key, kind: "label", text: "" };
}

interface FieldsProps<Of extends Edit> {
  readonly edit: Of;
  readonly set: (edit: Edit) => void;
  readonly document: EditsDocument;
}

function Fields({ edit, set, document }: FieldsProps<Edit>) {
  if (edit.kind === "say") return <Text label="What is said instead" value={edit.text} set={(text) => set({ ...edit, text })} rows={3} />;
  if (edit.kind === "label") return <Text label="Label" value={edit.text} set={(text) => set({ ...edit, text })} />;
  if (edit.kind === "person") return <PersonFields edit={edit} set={set} document={document} />;
  if (edit.kind === "forget") return <Forget edit={edit} set={set} document={document} />;
  if (edit.kind === "mechanisms") return <Mechanisms edit={edit} set={set} document={document} />;
  return (
    <>
      <Whom people={document.people} name={edit.name} choose={({ name }) => set({ ...edit, name })} />
      <Text label="What they remember" value={edit.text} set={(text) => set({ ...edit, text })} rows={3} />
    </>
  );
}

function Text({ label, value, set, rows = 1, note = "" }: { label: string; value: string; set: (value: string) => void; rows?: number; note?: string }) {
  return (
    <label class="stack">
      <span>{label}{note && <span class="muted"> {note}</span>}</span>
      {rows > 1
        ? <textarea rows={rows} value={value} onInput={(event) => set(event.currentTarget.value)} />
        : <input value={value} onInput={(event) => set(event.currentTarget.value)} />}
    </label>
  );
}

function Whom({ people, name, choose }: { people: readonly Person[]; name: string; choose: (person: Person) => void }) {
  return (
    <label>
      who{" "}
      <select value={name} onChange={(event) => choose(people[event.currentTarget.selectedIndex]!)}>
        {people.map((person) => <option key={person.name} value={person.name}>{person.name}</option>)}
      </select>
    </label>
  );
}

function PersonFields({ edit, set, document }: FieldsProps<Edit & { kind: "person" }>) {
  const person = document.people.find(({ name }) => name === edit.name)!;
  const field = person.fields.find(({ name }) => name === edit.field)!;
  const choose = (person: Person, wanted: string) => {
    const field = person.fields.find(({ name }) => name === wanted) ?? person.fields[0]!;
    set({ ...edit, name: person.name, field: field.name, typed: typedOf(field) });
  };
  const type = (typed: string) => set({ ...edit, typed });
  const isLong = ["lines", "goals", "pairs", "text", "plain"].includes(field.how);
  const meaning = sentenceOf(field.name);
  return (
    <>
      <div class="row">
        <Whom people={document.people} name={edit.name} choose={(person) => choose(person, edit.field)} />
        <label>
          what{" "}
          <select value={edit.field} onChange={(event) => choose(person, event.currentTarget.value)}>
            {person.fields.map(({ name }) => <option key={name} value={name}>{name.replaceAll("_", " ").replace(".", ": ")}</option>)}
          </select>
        </label>
      </div>
      {meaning && <p class="small muted">{field.name}: {meaning}.</p>}
      {field.how === "choice" ? (
        <label>
          from here on{" "}
          <select value={edit.typed} onChange={(event) => type(event.currentTarget.value)}>
            {[...new Set([...field.choices, edit.typed])].map((choice) => <option key={choice} value={choice}>{choice || "as drawn"}</option>)}
          </select>
        </label>
      ) : (
        <Text label="From here on" note={howInWords(field.how)} value={edit.typed} set={type} rows={isLong ? 4 : 1} />
      )}
    </>
  );
}

function Forget({ edit, set, document }: FieldsProps<Edit & { kind: "forget" }>) {
  const remembering = document.people.filter(({ memories }) => memories.length);
  const person = remembering.find(({ name }) => name === edit.name)!;
  return (
    <>
      <Whom people={remembering} name={edit.name} choose={({ name, memories }) => set({ ...edit, name, memory: memories[0]!.id })} />
      <label class="stack">
        <span>which memory</span>
        <select value={edit.memory} onChange={(event) => set({ ...edit, memory: event.currentTarget.value })}>
          {person.memories.map(({ id, text }) => <option key={id} value={id}>{text.length > 120 ? `${text.slice(0, 120)}…` : text}</option>)}
        </select>
      </label>
      {person.more_memories > 0 && (
        <p class="muted">{person.more_memories} older memories are not listed; take one of them away by its id: --forget '{person.name}=ID'.</p>
      )}
    </>
  );
}

function Mechanisms({ edit, set, document }: FieldsProps<Edit & { kind: "mechanisms" }>) {
  const toggled = (name: string) => document.mechanisms.filter((other) => (other === name) !== edit.on.includes(other));
  return (
    <div class="row">
      {document.mechanisms.map((name) => (
        <label key={name}>
          <input type="checkbox" checked={edit.on.includes(name)} onChange={() => set({ ...edit, on: toggled(name) })} /> {name.replaceAll("_", " ")}
        </label>
      ))}
    </div>
  );
}

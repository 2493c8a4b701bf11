/** Edits as they are typed, and what they come to: the changes of a fork, or why they can't be made. */

import { type Changes, onOneLine, tooLong } from "./draft";
import { type PersonField, typedOf, writtenOf } from "./person_fields";

export interface Person {
  readonly name: string;
  readonly fields: readonly PersonField[];
  readonly memories: readonly { readonly id: string; readonly text: string }[];
  readonly more_memories: number;
}

/** The document `runs/RUN/edits` (viewer/documents/edits.py). */
export interface EditsDocument {
  readonly people: readonly Person[];
  readonly can_say: boolean;
  readonly can_remember: boolean;
  readonly mechanisms: readonly string[];
  readonly mechanisms_on: readonly string[];
}

export interface Said {
  readonly speaker: string;
  readonly text: string;
}

export type Edit = { readonly key: number } & (
  | { readonly kind: "say"; readonly text: string }
  | { readonly kind: "label"; readonly text: string }
  | { readonly kind: "person"; readonly name: string; readonly field: string; readonly typed: string }
  | { readonly kind: "remember"; readonly name: string; readonly text: string }
  | { readonly kind: "forget"; readonly name: string; readonly memory: string }
  | { readonly kind: "mechanisms"; readonly on: readonly string[] }
);

export interface Edited {
  readonly changes: Changes;
  /** Why they can't be made. */
  readonly problem: string | null;
}

export const UNEDITED: Edited = { changes: {}, problem: null };

/** Return what edits come to; one that says what the run has is none. */
export function editedOf(edits: readonly Edit[], { people, mechanisms_on }: EditsDocument, said: Said | null): Edited {
  const person: [string, string][] = [];
  const remember: [string, string][] = [];
  const forget: [string, string][] = [];
  const changes: { -readonly [name in keyof Changes]: Changes[name] } = {};
  const problems: (string | null)[] = [];
  for (const edit of edits) {
    if (edit.kind === "say") {
      const text = onOneLine(edit.text);
      problems.push(tooLong("The line", text), text ? null : "Nothing is said: type the line, or leave it as it is.");
      if (text !== said?.text) changes.say = text;
    } else if (edit.kind === "label") {
      const text = onOneLine(edit.text);
      problems.push(tooLong("The label", text));
      if (text) changes.label = text;
    } else if (edit.kind === "remember") {
      const text = onOneLine(edit.text);
      problems.push(tooLong("The memory", text), text ? null : `Type what ${edit.name} is to remember, or leave it as it is.`);
      remember.push([edit.name, text]);
    } else if (edit.kind === "forget") forget.push([edit.name, edit.memory]);
    else if (edit.kind === "mechanisms") {
      if (edit.on.join() !== mechanisms_on.join()) changes.mechanisms = edit.on;
    } else {
      const field = people.find(({ name }) => name === edit.name)!.fields.find(({ name }) => name === edit.field)!;
      const written = writtenOf(field.how, edit.typed);
      problems.push(tooLong(`What is typed for ${edit.field} of ${edit.name}`, written));
      if (written !== writtenOf(field.how, typedOf(field))) person.push([`${edit.name}.${edit.field}`, written]);
    }
  }
  if (person.length) changes.person = person;
  if (remember.length) changes.remember = remember;
  if (forget.length) changes.forget = forget;
  return { changes, problem: problems.find((problem) => problem !== null) ?? null };
}

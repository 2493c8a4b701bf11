/** The fields of the form that begins a conversation: each with its label, and the line beside it that says what is wrong. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** The reasons by the wrong fields, and one of none of them. */
export interface Problem {
  readonly fields: Readonly<Record<string, string>>;
  readonly words: string | null;
}

interface FieldProps {
  readonly name: string;
  readonly label: ComponentChildren;
  readonly note?: string;
  readonly problem: Problem | null;
  /** The attributes that the field needs. */
  readonly children: (attributes: { id: string; "aria-invalid": boolean; "aria-describedby": string | undefined }) => ComponentChildren;
}

export function Field({ name, label, note, problem, children }: FieldProps) {
  const [id, notes] = [useId(), useId()];
  const wrong = problem?.fields[name];
  const isWrong = wrong !== undefined;
  return (
    <div class="new-field">
      <label for={id}>{label}</label>
      {children({ id, "aria-invalid": isWrong, "aria-describedby": note || isWrong ? notes : undefined })}
      {(note || isWrong) && (
        <p id={notes} class="small">
          {isWrong && <span class="wrong data" role="alert">{wrong} </span>}
          {note && <span class="muted">{note}</span>}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps extends Omit<FieldProps, "children"> {
  readonly value: string;
  readonly set: (value: string) => void;
  /** More than one makes an area of lines. */
  readonly rows?: number;
  readonly placeholder?: string;
}

export function TextField({ value, set, rows = 1, placeholder, ...field }: TextFieldProps) {
  return (
    <Field {...field}>
      {(attributes) =>
        rows > 1
          ? <textarea {...attributes} rows={rows} value={value} placeholder={placeholder} onInput={(event) => set(event.currentTarget.value)} />
          : <input {...attributes} value={value} placeholder={placeholder} autocomplete="off" onInput={(event) => set(event.currentTarget.value)} />}
    </Field>
  );
}

/** A spoken line: its actions, such as *sets down her cup*, are in italics. */

import type { ComponentChildren } from "preact";

/** A part of a line, as viewer/documents/spoken.py has it. */
export interface SpokenPart {
  readonly kind: "words" | "action";
  readonly text: string;
}

interface Props {
  readonly text: string;
  /** The parts of a line that has actions. */
  readonly parts?: readonly SpokenPart[];
  /** How many characters are shown. */
  readonly most?: number;
  /** How a text is shown. */
  readonly shown?: (text: string) => ComponentChildren;
}

export function Spoken({ text, parts, most = Infinity, shown = (text) => text }: Props) {
  if (!parts) return <>{shown(text.slice(0, most))}</>;
  let left = most;
  return (
    <>
      {parts.map((part, place) => {
        const cut = part.text.slice(0, Math.max(0, left));
        left -= part.text.length;
        return part.kind === "action" ? <em key={place} class="action">{shown(cut)}</em> : <span key={place}>{shown(cut)}</span>;
      })}
    </>
  );
}

/** Text of any length: its beginning, and all of it where the reader wants it. */

import { useState } from "preact/hooks";
import { Spoken, type SpokenPart } from "../../components/spoken";

export function LongText({ text, parts, most = 320 }: { text: string; parts?: readonly SpokenPart[]; most?: number }) {
  const [isOpen, open] = useState(false);
  // A little more than the limit is shown whole: a button would take as much room.
  if (text.length <= most * 1.25) return <span class="data"><Spoken text={text} parts={parts} /></span>;
  return (
    <>
      <span class="data"><Spoken text={text} parts={parts} most={isOpen ? Infinity : most} />{!isOpen && "…"}</span>{" "}
      <button class="plain small" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        {isOpen ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`}
      </button>
    </>
  );
}

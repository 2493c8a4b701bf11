/** Text of any length: its beginning, and all of it where the reader wants it. */

import { useState } from "preact/hooks";

export function LongText({ text, most = 320 }: { text: string; most?: number }) {
  const [isOpen, open] = useState(false);
  // A little more than the limit is shown whole: a button would take as much room.
  if (text.length <= most * 1.25) return <span class="data">{text}</span>;
  return (
    <>
      <span class="data">{isOpen ? text : `${text.slice(0, most).trimEnd()}…`}</span>{" "}
      <button class="plain small" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        {isOpen ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`}
      </button>
    </>
  );
}

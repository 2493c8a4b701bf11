/** A command to copy, with the store that the page shows. */

import { commandLine } from "../shell";
import { source } from "../source";
import { useDocument } from "../use_document";

/** The line of a command; in a file it names no store, as nobody else has that one. */
export function Command({ words }: { words: readonly string[] }) {
  const store = useDocument<{ words: readonly string[] }>(source.isFile ? null : "store");
  if (!source.isFile && store.state === "loading") return null;
  const named = store.state === "ready" ? store.value.words : [];
  return <code class="data">{commandLine(["tertulia", ...words, ...named])}</code>;
}

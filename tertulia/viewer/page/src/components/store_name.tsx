/** The name of the store that the page shows. */

import { source } from "../source";
import { useDocument } from "../use_document";

export function StoreName() {
  const store = useDocument<{ name?: string }>(source.isFile ? null : "store");
  if (store.state !== "ready" || !store.value.name) return null;
  return <span class="muted small data store-name">{store.value.name}</span>;
}

/** An album chat: who has seen which picture, by round. */

import type { Run } from "../documents";

export function AlbumView({ run }: { run: Run }) {
  return <h2>{run.run}</h2>;
}

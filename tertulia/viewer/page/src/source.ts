/** Where documents come from: the server of `tertulia view`, or the exported file that the page itself is in. */

import type { Change, Source } from "./document_source";
import { EmbeddedFile } from "./embedded_file";
import { request, watchServer } from "./server_request";

class Server implements Source {
  readonly isFile = false;

  read<T>(path: string): Promise<T> {
    return request<T>(path);
  }

  watch(run: string | null, report: (change: Change) => void): () => void {
    return watchServer(run, report);
  }
}

const embedded = typeof document === "undefined" ? null : document.getElementById("documents");

export const source: Source = embedded ? new EmbeddedFile(embedded) : new Server();

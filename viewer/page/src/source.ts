/** Where documents come from: the server of `tertulia view`, or the exported file that the page itself is in. */

import { type AboutFile, EmbeddedFile } from "./embedded_file";

/** How a run stands, as the server reports it; `runs` changes whenever any run of the store does. */
export interface Change {
  readonly runs: string | number;
  readonly run: { readonly run: string; readonly status: string; readonly turns: number } | null;
}

export interface Source {
  /** What an exported file says of itself; none of a server. */
  readonly about?: AboutFile;
  /** Whether documents are those of a file: nothing changes in it, and it has one run. */
  readonly isFile: boolean;
  /** Return the document of a path (tertulia/pages/documents.py lists them); throws an `Error` for a reader. */
  read<T>(path: string): Promise<T>;
  /** Report how a run stands now, and whenever it changes; returns what ends that. */
  watch(run: string | null, report: (change: Change) => void): () => void;
}

class Server implements Source {
  readonly isFile = false;

  async read<T>(path: string): Promise<T> {
    let response: Response;
    try {
      response = await fetch(`api/${path}`);
    } catch {
      throw new Error("The server does not answer. Start it again with: tertulia view");
    }
    const document = await response.json();
    if (!response.ok) throw new Error(document.error ?? response.statusText);
    return document;
  }

  watch(run: string | null, report: (change: Change) => void): () => void {
    const events = new EventSource(`api/changes${run === null ? "" : `?run=${encodeURIComponent(run)}`}`);
    events.onmessage = (event) => report(JSON.parse(event.data));
    return () => events.close();
  }
}

const embedded = typeof document === "undefined" ? null : document.getElementById("documents");

export const source: Source = embedded ? new EmbeddedFile(embedded) : new Server();

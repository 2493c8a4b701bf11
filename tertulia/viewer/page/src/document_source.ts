/** What gives the page its documents. */

/** What a file says of itself. */
export interface AboutFile {
  readonly run: string;
  /** The version of the program that wrote it. */
  readonly version: string;
  /** What the store has and the file has not; empty where it has everything. */
  readonly omitted: string;
}

/** How a run stands, as the server reports it; `runs` changes whenever any run of the store does. */
export interface Change {
  readonly runs: string | number;
  readonly run: {
    readonly run: string;
    readonly status: string;
    readonly turns: number;
    /** Whether a process drives it; one that was killed is still stored as `running`. */
    readonly driven?: boolean;
  } | null;
}

export interface Source {
  /** What an exported file says of itself; none of a server. */
  readonly about?: AboutFile;
  /** Whether documents are those of a file: nothing changes in it, and it has one run. */
  readonly isFile: boolean;
  /** Return the document of a path (viewer/documents/by_path.py lists them); throws an `Error` for a reader. */
  read<T>(path: string): Promise<T>;
  /** Report how a run stands now, and whenever it changes; returns what ends that. */
  watch(run: string | null, report: (change: Change) => void): () => void;
}

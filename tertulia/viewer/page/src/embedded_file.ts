/** The documents of an exported file (viewer/html_file.py), unpacked as they are read. */

import type { AboutFile, Source } from "./document_source";

interface Index {
  /** By path, the number of a document. */
  readonly documents: Readonly<Record<string, number>>;
  /** By path, why the run has no such document. */
  readonly missing: Readonly<Record<string, string>>;
  /** The number of the first value of each chunk. */
  readonly firsts: readonly number[];
}

const CHUNKS_KEPT = 48;

/** A value stands in the place of a text that begins with this sign; a text that begins with it has another one. */
const REFERENCE = "~";

export class EmbeddedFile implements Source {
  readonly isFile = true;
  readonly about: AboutFile;
  private readonly index: Promise<Index>;
  private readonly packed: readonly Element[];
  private readonly unpacked = new Map<number, Promise<readonly unknown[]>>();

  constructor(element: HTMLElement) {
    const { run = "", version = "", omitted = "" } = element.dataset;
    this.about = { run, version, omitted };
    this.packed = [...document.querySelectorAll("script.chunk")];
    this.index = unpack<Index>(element);
    this.index.catch(() => undefined); // told where a document is read
  }

  async read<T>(path: string): Promise<T> {
    const index = await this.index;
    const plain = path.replace(/\?.*$/s, "");
    const number = Object.hasOwn(index.documents, plain) ? index.documents[plain] : undefined;
    if (number !== undefined) return (await this.whole(number, index)) as T;
    if (Object.hasOwn(index.missing, plain)) throw new Error(index.missing[plain]);
    if (this.about.omitted && plain.endsWith("/states")) throw new Error(`Not in this file: ${this.about.omitted}.`);
    throw new Error(`This file holds run ${this.about.run} alone. tertulia view shows all runs of a store.`);
  }

  watch(): () => void {
    return () => undefined;
  }

  /** Return a value with all that it refers to in its place. */
  private async whole(number: number, index: Index): Promise<unknown> {
    const chunks = new Map<number, readonly unknown[]>();
    for (;;) {
      const wanted = new Set<number>();
      const value = resolve(number, index.firsts, chunks, wanted);
      if (wanted.size === 0) return value;
      await Promise.all([...wanted].map(async (at) => chunks.set(at, await this.chunk(at))));
    }
  }

  private chunk(at: number): Promise<readonly unknown[]> {
    let values = this.unpacked.get(at);
    if (values === undefined) values = unpack<readonly unknown[]>(this.packed[at]!);
    this.unpacked.delete(at); // the last ones that were read are kept
    this.unpacked.set(at, values);
    if (this.unpacked.size > CHUNKS_KEPT) this.unpacked.delete(this.unpacked.keys().next().value!);
    return values;
  }
}

/**
 * Return a value with all that it refers to in its place, as far as the given chunks hold it; those that it needs besides
 * are added to `wanted`.
 */
export function resolve(
  number: number,
  firsts: readonly number[],
  chunks: ReadonlyMap<number, readonly unknown[]>,
  wanted: Set<number>,
): unknown {
  const known = new Map<number, unknown>();

  const numbered = (number: number): unknown => {
    if (known.has(number)) return known.get(number);
    const at = chunkOf(number, firsts);
    const values = chunks.get(at);
    if (values === undefined) {
      wanted.add(at);
      return null;
    }
    const value = filled(values[number - firsts[at]!]);
    known.set(number, value);
    return value;
  };

  const filled = (value: unknown): unknown => {
    if (typeof value === "string") {
      if (!value.startsWith(REFERENCE)) return value;
      return value[1] === REFERENCE ? value.slice(1) : numbered(parseInt(value.slice(1), 36));
    }
    if (Array.isArray(value)) return value.map(filled);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner)]));
  };

  return numbered(number);
}

/** Return which chunk holds a value: the last one that begins at or before it. */
function chunkOf(number: number, firsts: readonly number[]): number {
  let low = 0;
  let high = firsts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (firsts[middle]! <= number) low = middle;
    else high = middle - 1;
  }
  return low;
}

async function unpack<T>(element: Element): Promise<T> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser can't unpack the file. Open it with one that is newer than 2023.");
  }
  const letters = atob((element.textContent ?? "").trim());
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  try {
    return await new Response(stream).json();
  } catch {
    throw new Error("This file is damaged: a part of it can't be unpacked. Export the run again.");
  }
}

/** Two texts word by word: which words stand in one of them alone. */

/** Words in a row that both texts have in that place, or one has alone. */
export interface Piece {
  readonly text: string;
  readonly isShared: boolean;
}

/** Places of the table of common subsequences; beyond that, all between the shared beginning and end is marked. */
const MOST_PLACES = 4_000_000;
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]/;

/** Return both texts in pieces; the pieces of a text, joined, are the text. */
export function wordDiff(a: string, b: string): [Piece[], Piece[]] {
  const [left, right] = [wordsOf(a), wordsOf(b)];
  const keys = [left, right].map((words) => words.map((word) => word.trim())) as [string[], string[]];
  const shared = sharedWords(keys[0], keys[1]);
  return [piecesOf(left, shared[0]), piecesOf(right, shared[1])];
}

/** Return the words of a text, each with the white space behind it; scripts without spaces are cut by the browser. */
function wordsOf(text: string): string[] {
  if (UNSPACED.test(text)) return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].map(({ segment }) => segment);
  return text.match(/\S+\s*|\s+/g) ?? [];
}

/** Return of each word of both lists whether it is in a longest common subsequence of them. */
function sharedWords(a: readonly string[], b: readonly string[]): [boolean[], boolean[]] {
  const inA = new Array<boolean>(a.length).fill(false);
  const inB = new Array<boolean>(b.length).fill(false);
  let first = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) inA[first] = inB[first++] = true;
  let [endA, endB] = [a.length, b.length];
  while (endA > first && endB > first && a[endA - 1] === b[endB - 1]) inA[--endA] = inB[--endB] = true;
  const [high, wide] = [endA - first, endB - first];
  if (high * wide > MOST_PLACES) return [inA, inB];
  // lengths[i * (wide + 1) + j]: of the longest common subsequence of what follows word i of A and word j of B.
  const lengths = new Uint32Array((high + 1) * (wide + 1));
  const at = (i: number, j: number) => lengths[i * (wide + 1) + j]!;
  for (let i = high - 1; i >= 0; i--) {
    for (let j = wide - 1; j >= 0; j--) {
      const isSame = a[first + i] === b[first + j];
      lengths[i * (wide + 1) + j] = isSame ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  for (let i = 0, j = 0; i < high && j < wide; ) {
    if (a[first + i] === b[first + j]) inA[first + i++] = inB[first + j++] = true;
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return [inA, inB];
}

function piecesOf(words: readonly string[], isShared: readonly boolean[]): Piece[] {
  const pieces: { text: string; isShared: boolean }[] = [];
  words.forEach((word, index) => {
    const last = pieces[pieces.length - 1];
    if (last && last.isShared === isShared[index]) last.text += word;
    else pieces.push({ text: word, isShared: isShared[index]! });
  });
  return pieces;
}

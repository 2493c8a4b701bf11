/** Words as a POSIX shell reads them back. */

/** Return a command line of which a shell makes exactly these words. */
export function commandLine(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

/** Return a word so that a shell reads it back. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

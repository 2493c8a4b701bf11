/** Numbers, times and words as they stand on the page. */

/** Return a number with so many digits behind the point; a dash where there is none. */
export function number(value: number | null | undefined, digits = 2): string {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

/** Return a number with so many digits, or with as many as it takes to see that it is not the other one. */
export function besides(value: number | null | undefined, other: number | null | undefined, digits = 2): string {
  let places = digits;
  while (value !== other && places < 16 && number(value, places) === number(other, places)) places += 1;
  return number(value, value === other ? digits : places);
}

/** Return by how many seconds one was behind another: `+0.21`, `−0.07`. */
export function margin(seconds: number): string {
  return `${seconds < 0 ? "−" : "+"}${number(Math.abs(seconds))}`;
}

/** Return λ: as it was set, or where it was steered with no more digits than anybody reads. */
export function lambda(factor: number | null | undefined): string {
  return factor === null || factor === undefined ? "–" : String(Math.round(factor * 1000) / 1000);
}

/** Return a share in [0, 1] as a percentage. */
export function percent(share: number | null | undefined, digits = 0): string {
  return share === null || share === undefined ? "–" : `${(share * 100).toFixed(digits)} %`;
}

/** Return `1 turn`, `2 turns`. */
export function counted(count: number, singular: string): string {
  return `${count.toLocaleString("en")} ${singular}${count === 1 ? "" : "s"}`;
}

/** Return a text of the program as a sentence: with a capital, but for λ, and a full stop. */
export function asSentence(text: string): string {
  const begun = /^[λα]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** Return the name of a value, a step or a mechanism as it stands in a sentence. */
export function inWords(name: string): string {
  return name.replaceAll("_", " ");
}

/** Return seconds from the start of a conversation as `12:34`, or `1:02:03`. */
export function elapsed(seconds: number): string {
  const whole = Math.floor(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  const two = (value: number) => String(value).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${two(minutes)}:${two(rest)}`;
}

/** Return a name to stand in a sentence: whatever it holds, it does not turn the direction of what follows. */
export function isolated(name: string): string {
  return `\u2068${name}\u2069`;
}

/** Return names as they stand in a sentence: `A`, `A and B`, `A, B and C`. */
export function listed(names: readonly string[]): string {
  const [last, ...before] = names.map(isolated).reverse();
  return last === undefined ? "" : before.length ? `${before.reverse().join(", ")} and ${last}` : last;
}

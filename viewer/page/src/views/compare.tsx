/** Two runs side by side. */

export function CompareView({ a, b }: { a: string; b: string }) {
  return <main class="view"><h1>{a} and {b}</h1></main>;
}

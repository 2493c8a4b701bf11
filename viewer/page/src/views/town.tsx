/** Days of a town. */

export function TownView({ simulation }: { simulation: string }) {
  return <main class="view"><h1>{simulation}</h1></main>;
}

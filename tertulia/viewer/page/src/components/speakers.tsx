/** Who speaks: by colour, by the shape of a mark, and by name. */

const COLOURS = 8;
const SHAPES = [
  "M6 1a5 5 0 1 0 .01 0Z", // circle
  "M1.5 1.5h9v9h-9Z", // square
  "M6 0.5 11.5 6 6 11.5 0.5 6Z", // diamond
  "M6 1 11.5 11H0.5Z", // triangle
  "M4.5 1h3v3.5H11v3H7.5V11h-3V7.5H1v-3h3.5Z", // cross
];

/** Return the colour of a speaker, as a CSS value, by their place among the people of the run. */
export function colourOf(people: readonly string[], name: string): string {
  const index = people.indexOf(name);
  return index < 0 ? "var(--muted)" : `var(--speaker-${index % COLOURS})`;
}

/** Return the outline of a speaker's mark in a square of 12 by 12; it differs where colours repeat. */
export function shapeOf(people: readonly string[], name: string): string {
  const index = Math.max(0, people.indexOf(name));
  return SHAPES[(Math.floor(index / COLOURS) + (index % COLOURS)) % SHAPES.length]!;
}

/** A speaker's mark. */
export function Mark({ people, name }: { people: readonly string[]; name: string }) {
  return (
    <svg class="mark" viewBox="0 0 12 12" aria-hidden="true">
      <path d={shapeOf(people, name)} fill={colourOf(people, name)} />
    </svg>
  );
}

/** A speaker's mark and name. */
export function Speaker({ people, name }: { people: readonly string[]; name: string }) {
  return (
    <span class="speaker" style={{ color: colourOf(people, name) }}>
      <Mark people={people} name={name} />
      <bdi class="data">{name}</bdi>
    </span>
  );
}

/** The units of a prompt by weight: what was most attended of all that λ may remove. */

interface Weighed {
  readonly removable: boolean;
  readonly score: number | null;
}

/** Return the removable units with the highest scores above 0, highest first, with their shares in [0, 1] of all of it. */
export function heaviestOf<U extends Weighed>(units: readonly U[], most: number): { readonly unit: U; readonly share: number }[] {
  const removable = units.filter((unit) => unit.removable);
  const total = removable.reduce((sum, { score }) => sum + (score ?? 0), 0);
  const scored = removable.filter(({ score }) => (score ?? 0) > 0);
  // Sorting is stable: ties keep the prompt's order.
  return scored.sort((a, b) => b.score! - a.score!).slice(0, most).map((unit) => ({ unit, share: unit.score! / total }));
}

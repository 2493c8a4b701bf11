/** Several ids in one value of an address's query. */

/** Return the ids that a query names; what somebody has mistyped is an id like any other. */
export function idsOf(text: string | undefined): readonly string[] {
  return text ? text.split(",").map(decoded) : [];
}

/** Return ids as a value of a query. */
export function listOfIds(ids: readonly string[]): string | null {
  return ids.map(encodeURIComponent).join(",") || null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

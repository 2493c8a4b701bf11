/** Fields of people as they are typed, and as `fork --person` takes them, in YAML: JSON is read as that. */

export type How = "text" | "number" | "choice" | "lines" | "goals" | "pairs" | "plain";

/** A field of a person as a run began (viewer/documents/edits.py). */
export interface PersonField {
  readonly name: string;
  readonly how: How;
  readonly value: unknown;
  readonly choices: readonly string[];
}

interface Goal {
  readonly goal: string;
  readonly sub_goals: readonly string[];
}

/** Return a value as it is typed: one a line, a goal with the lines of its plan below it. */
export function typedOf({ how, value }: PersonField): string {
  if (value === null || value === undefined) return "";
  if (how === "goals") return (value as Goal[]).flatMap(({ goal, sub_goals }) => [goal, ...sub_goals.map((sub) => `- ${sub}`)]).join("\n");
  if (how === "pairs") return (value as [string, string][]).map(([name, text]) => `${name}: ${text}`).join("\n");
  if (how === "lines") return (value as string[]).join("\n");
  return Array.isArray(value) ? `[${value.join(", ")}]` : String(value);
}

/** Return typed text as the command takes it. */
export function writtenOf(how: How, typed: string): string {
  const text = typed.trim();
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  if (how === "goals") return JSON.stringify(goalsOf(lines));
  if (how === "lines") return JSON.stringify(lines);
  if (how === "pairs") return JSON.stringify(Object.fromEntries(lines.map((line) => line.split(/:\s*(.*)/s).slice(0, 2))));
  if (how === "plain") return text.replace(/\s+/g, " ");
  if (text === "") return "null";
  return how === "text" ? JSON.stringify(text.replace(/\s+/g, " ")) : text;
}

/** Return how a field is typed, in words; nothing where one line says it. */
export function howInWords(how: How): string {
  if (how === "goals") return "One goal a line; below it, the steps of its plan, each after a dash: - ask her.";
  if (how === "lines") return "One a line.";
  if (how === "pairs") return "One a line: a name, a colon, and how they stand to them.";
  return "";
}

function goalsOf(lines: readonly string[]): Goal[] {
  const goals: { goal: string; sub_goals: string[] }[] = [];
  for (const line of lines) {
    const step = /^[-•]\s*(.+)/.exec(line)?.[1];
    const last = goals.at(-1);
    if (step !== undefined && last) last.sub_goals.push(step);
    else goals.push({ goal: step ?? line, sub_goals: [] });
  }
  return goals;
}

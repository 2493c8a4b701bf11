/** The runs of a store as the rows of a tree: forks under their parents, simulations and experiments as one row each. */

import type { RunRow } from "../documents";

export interface Trial {
  readonly experiment: string;
  readonly setting: string;
  readonly case: string;
  readonly trial: number;
}

/** A run of the list with its place in an experiment. */
export type ListedRun = RunRow & { readonly trial?: Trial | null };

export interface ListedSimulation {
  readonly simulation: string;
  readonly status: string;
  readonly ended_by: string | null;
  readonly town: string;
  readonly model: string;
  readonly seed: number;
  readonly days: number;
  readonly rehearsed: boolean;
  readonly error: string | null;
}

export type Sort = "date" | "turns" | "lambda" | "scenario";

export interface Filter {
  readonly text: string;
  readonly status: string;
  readonly scenario: string;
}

/** A row: a run, or a simulation, an experiment or one of its settings, which stand for the runs under them. */
export interface Node {
  readonly id: string;
  readonly kind: "run" | "simulation" | "experiment" | "setting";
  readonly name: string;
  /** The run; of the others the newest of theirs. */
  readonly run: ListedRun;
  readonly simulation: ListedSimulation | null;
  readonly children: Node[];
}

/** A row that is shown: its node, with the lines that lead to it from the left. */
export interface Row {
  readonly node: Node;
  /** By ancestor below the root whether a line goes on past this row to a later sibling. */
  readonly rails: readonly boolean[];
  readonly isLast: boolean;
  readonly isOpen: boolean;
}

/** Trials of an experiment, or more of them, that are folded into one row. */
const MANY_TRIALS = 3;

/** Return the roots of the tree, as the runs are listed: the newest first. */
export function treeOf(runs: readonly ListedRun[], simulations: readonly ListedSimulation[]): Node[] {
  const nodes = new Map<string, Node>();
  for (const run of runs) nodes.set(run.run, { id: run.run, kind: "run", name: run.run, run, simulation: null, children: [] });
  const known = new Map(simulations.map((simulation) => [simulation.simulation, simulation]));
  const trials = new Map<string, number>();
  for (const { trial } of runs) if (trial) trials.set(trial.experiment, (trials.get(trial.experiment) ?? 0) + 1);
  const groups = new Map<string, Node>();
  const roots: Node[] = [];
  /** Return a node that stands for several runs; it takes the place of the first of them. */
  const group = (id: string, kind: Node["kind"], name: string, run: ListedRun, into: Node[]): Node => {
    let found = groups.get(id);
    if (!found) {
      found = { id, kind, name, run, simulation: kind === "simulation" ? (known.get(name) ?? null) : null, children: [] };
      groups.set(id, found);
      into.push(found);
    }
    return found;
  };
  for (const run of runs) {
    const node = nodes.get(run.run)!;
    const parent = run.parent && nodes.get(run.parent.run);
    if (run.simulation) group(`simulation ${run.simulation}`, "simulation", run.simulation, run, roots).children.push(node);
    else if (parent) parent.children.push(node);
    else if (run.trial && trials.get(run.trial.experiment)! >= MANY_TRIALS) {
      const { experiment, setting } = run.trial;
      const above = group(`experiment ${experiment}`, "experiment", experiment, run, roots);
      group(`setting ${experiment} ${setting}`, "setting", setting, run, above.children).children.push(node);
    } else roots.push(node);
  }
  return roots;
}

/** Return whether a run is one of those that are looked for. */
export function matches(run: ListedRun, { text, status, scenario }: Filter): boolean {
  if (status && run.status !== status) return false;
  if (scenario && run.name !== scenario) return false;
  if (!text) return true;
  const { trial, parent } = run;
  const told = [run.run, run.name, run.scenario, run.model, run.label, run.order, run.simulation, run.error, run.first_line, ...(run.people ?? []), parent?.run];
  const all = [...told, trial?.experiment, trial?.setting].filter(Boolean).join("\n").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

const KEYS: Record<Sort, (node: Node) => number | string> = {
  date: ({ run }) => run.created,
  turns: (node) => turnsOf(node),
  lambda: ({ run }) => run.removal_factor ?? -1,
  scenario: ({ run }) => run.name.toLowerCase(),
};

/** Return the turns of a run, or of all runs that a row stands for. */
export function turnsOf(node: Node): number {
  return node.kind === "run" ? node.run.turns : node.children.reduce((sum, child) => sum + turnsOf(child), 0);
}

/** Return how many runs stand under a node, those under them among them. */
export function runsUnder(node: Node): number {
  return node.children.reduce((sum, child) => sum + Number(child.kind === "run") + runsUnder(child), 0);
}

/** Return whether the rows under a node are shown unless the reader folds them: those of a run, its forks, are. */
export function isOpenAtFirst(node: Node): boolean {
  return node.kind === "run";
}

/**
 * Return the rows that are shown, parents before forks.
 *
 * @param toggled ids of the nodes that the reader has folded or opened
 * @param filter  rows that match are shown, with those that they stand under
 */
export function rowsOf(roots: readonly Node[], sort: Sort, isDown: boolean, toggled: ReadonlySet<string>, filter: Filter): Row[] {
  const isFiltered = Boolean(filter.text || filter.status || filter.scenario);
  const wanted = new Set<Node>();
  const mark = (node: Node): boolean => {
    const isUnder = node.children.map(mark).some(Boolean);
    const isWanted = isUnder || (node.kind === "run" && matches(node.run, filter));
    if (isWanted) wanted.add(node);
    return isWanted;
  };
  if (isFiltered) roots.forEach(mark);
  const sorted = (nodes: readonly Node[]): Node[] => {
    const kept = isFiltered ? nodes.filter((node) => wanted.has(node)) : [...nodes];
    if (sort === "date" && isDown) return kept;
    const keys = new Map(kept.map((node) => [node, KEYS[sort](node)]));
    const sign = isDown ? -1 : 1;
    return kept.sort((a, b) => {
      const [left, right] = [keys.get(a)!, keys.get(b)!];
      return left < right ? -sign : left > right ? sign : 0;
    });
  };
  const rows: Row[] = [];
  const add = (nodes: readonly Node[], rails: readonly boolean[], isRoot: boolean): void => {
    const shown = sorted(nodes);
    shown.forEach((node, index) => {
      const isLast = index === shown.length - 1;
      const isOpen = node.children.length > 0 && (isFiltered || isOpenAtFirst(node)) !== toggled.has(node.id);
      rows.push({ node, rails, isLast, isOpen });
      if (isOpen) add(node.children, isRoot ? rails : [...rails, !isLast], false);
    });
  };
  add(roots, [], true);
  return rows;
}

/** Return how deep a row stands: 0 is a root. */
export function depths(rows: readonly Row[], roots: readonly Node[]): Map<Node, number> {
  const found = new Map<Node, number>(roots.map((root) => [root, 0]));
  for (const { node } of rows) for (const child of node.children) found.set(child, (found.get(node) ?? 0) + 1);
  return found;
}

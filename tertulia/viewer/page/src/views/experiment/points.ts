/** Where the figures of a measure stand on a plot: by setting along an axis, or setting by setting. */

import type { Axis, Measure, Mean, Reported } from "./documents";

/** A mean with its interval, or the figure of one case. */
export interface Mark {
  readonly setting: string;
  /** Null: the mean over cases. */
  readonly case: string | null;
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** Settings that differ only in the parameter of the axis: a line of a plot. */
export interface Line {
  readonly label: string;
  readonly settings: readonly string[];
  readonly isControl: boolean;
}

/** Return the lines of an axis, that of the axis alone first, each with its settings from the left. */
export function linesOf(axis: Axis, settings: readonly string[]): Line[] {
  const lines = new Map<string, string[]>();
  for (const setting of settings) {
    if (axis.values[setting] === undefined) continue;
    const label = axis.series[setting] ?? "";
    lines.set(label, [...(lines.get(label) ?? []), setting]);
  }
  const sorted = [...lines].sort(([a, left], [b, right]) => Number(a !== "") - Number(b !== "") || right.length - left.length);
  return sorted.map(([label, found]) => ({
    label,
    settings: found.sort((a, b) => axis.values[a]! - axis.values[b]!),
    isControl: false,
  }));
}

/** Return what a line is called: what the names of its settings begin with, or else what they have besides the axis. */
export function lineName(line: Line, axis: Axis): string {
  if (!line.label) return `${axisName(axis.parameter)} alone`;
  const [first = "", ...others] = line.settings;
  const same = [...first].findIndex((letter, place) => others.some((name) => name[place] !== letter));
  const begun = (same < 0 ? first : first.slice(0, same)).replace(/[\s\d.,=:–_-]+$/, "");
  return begun.length > 2 ? begun : line.label.replaceAll("_", " ").replaceAll("=", ": ");
}

/** Return the marks of a setting: its mean first, then its cases. */
export function marksOf(measure: Measure, setting: string): Mark[] {
  const found = measure.settings.find((figures) => figures.setting === setting);
  if (!found || found.value === null) return [];
  const ofCases = measure.cases.flatMap((name, index) => {
    const value = found.by_case[index];
    return value === null || value === undefined ? [] : [{ setting, case: name, value, low: null, high: null }];
  });
  return [meanMark(setting, found, found.value), ...ofCases];
}

/** Return the mean of the control in a setting. */
export function controlMark(measure: Measure, setting: string): Mark | null {
  const control = measure.settings.find((figures) => figures.setting === setting)?.control;
  return control && control.value !== null ? meanMark(setting, control, control.value) : null;
}

function meanMark(setting: string, mean: Mean, value: number): Mark {
  return { setting, case: null, value, low: mean.interval?.[0] ?? null, high: mean.interval?.[1] ?? null };
}

/** Return the lowest and the highest value that is drawn, with room beside them but none below 0 or above 1; null where there is none. */
export function extentOf(marks: readonly Mark[]): [number, number] | null {
  const values = marks.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]);
  if (!values.length) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = high > low ? (high - low) * 0.04 : Math.abs(high) * 0.1 || 0.1;
  return [low >= 0 ? Math.max(low - room, 0) : low - room, high <= 1 ? Math.min(high + room, 1) : high + room];
}

/** Return a measure that the page can't take with the means of the report that has it; the measure itself elsewhere. */
export function withReported(measure: Measure, reported: Reported | null): { measure: Measure; isReported: boolean } {
  const figures = measure.not_measured ? (reported?.report?.figures.filter(({ metric }) => metric === measure.metric) ?? []) : [];
  if (!figures.some(({ here }) => here.value !== null)) return { measure, isReported: false };
  const settings = measure.settings.map((setting) => {
    const found = figures.find((figure) => figure.setting === setting.setting);
    if (!found) return setting;
    const difference = found.difference && { ...found.difference, p: null };
    return { ...setting, ...found.here, difference, by_case: measure.cases.map(() => null) };
  });
  return { measure: { ...measure, settings, not_measured: null }, isReported: true };
}

/** The name of a parameter as people say it. */
export function axisName(parameter: string): string {
  return parameter === "removal_factor" ? "λ" : parameter.replaceAll("_", " ");
}

/** The value of a parameter as people say it. */
export function valueWords(value: unknown): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

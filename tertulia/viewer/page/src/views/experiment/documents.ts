/** The documents of viewer/documents/experiment.py, measures.py and reported.py. */

export interface ExperimentSetting {
  readonly setting: string;
  /** The parameters that differ between settings. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly finished: number;
  readonly failed: number;
}

export interface Axis {
  readonly parameter: string;
  readonly values: Readonly<Record<string, number>>;
  /** By setting, what it has besides; settings with the same are one line. */
  readonly series: Readonly<Record<string, string>>;
}

export interface OfferedMeasure {
  readonly metric: string;
  readonly title: string;
  readonly meaning: string;
  readonly needs: "embedder" | "model" | null;
}

export interface Experiment {
  readonly experiment: string;
  readonly description: string;
  readonly model: string;
  readonly rehearsed: boolean;
  readonly cases: readonly string[];
  readonly trials: number;
  readonly rounds: number | null;
  readonly seed: number;
  readonly baseline: string;
  readonly common: Readonly<Record<string, unknown>>;
  readonly settings: readonly ExperimentSetting[];
  readonly axes: readonly Axis[];
  readonly progress: {
    readonly planned: number;
    readonly finished: number;
    readonly failed: number;
    readonly running: number;
    readonly missing: number;
    readonly utterances: number;
    /** Of all conversations together; null before one has finished where no rounds are set. */
    readonly utterances_expected: number | null;
    readonly failures: readonly { readonly run: string; readonly error: string | null }[];
    readonly seconds_left: number | null;
  };
  readonly plan: { readonly digest: string | null; readonly text: string | null; readonly departures: readonly string[] };
  readonly notes: readonly string[];
  readonly measures: readonly OfferedMeasure[];
  readonly control: string | null;
  readonly control_of: string | null;
}

export interface Mean {
  readonly value: number | null;
  readonly interval: readonly [number, number] | null;
  readonly cases: number;
  readonly dialogues: number | null;
}

export interface SettingFigures extends Mean {
  /** In the order of the measure's cases; null where a case has none. */
  readonly by_case: readonly (number | null)[];
  readonly difference: (Mean & { readonly above: number; readonly p: number | null }) | null;
}

export interface Measure {
  readonly metric: string;
  readonly title: string;
  readonly meaning: string;
  readonly baseline: string;
  readonly cases: readonly string[];
  readonly conversations: number;
  readonly unpaired: number;
  readonly settings: readonly (SettingFigures & { readonly setting: string; readonly control: SettingFigures | null })[];
  /** Why there are no figures, as a clause. */
  readonly not_measured: string | null;
  readonly can_measure: boolean;
  readonly command: readonly string[];
}

export interface Trial {
  readonly case: string;
  readonly trial: number;
  readonly run: string;
  readonly status: string;
  readonly turns: number;
  readonly speaker: string | null;
  readonly first_line: string | null;
  /** The same trial of the baseline. */
  readonly beside: string | null;
}

export interface Trials {
  readonly setting: string;
  readonly case: string | null;
  readonly baseline: string;
  readonly trials: readonly Trial[];
  readonly more: number;
}

export interface ReportedOrdering {
  readonly id: string;
  readonly text: string;
  readonly verdict: string;
  readonly primary: boolean;
  readonly here: Mean | null;
  readonly p_adjusted: number | null;
  readonly control: Mean | null;
  readonly note: string | null;
}

export interface ReportedFigure {
  readonly metric: string;
  readonly setting: string;
  readonly here: Mean;
  readonly difference: (Mean & { readonly above: number }) | null;
}

export interface Reported {
  readonly report: {
    readonly report: string;
    readonly finished: number | null;
    readonly figures: readonly ReportedFigure[];
    readonly orderings: readonly ReportedOrdering[] | null;
    readonly tally: Readonly<Record<string, number>> | null;
    readonly not_measured: Readonly<Record<string, string>> | null;
    readonly plan: { readonly departures: readonly string[] } | null;
  } | null;
  readonly page: string | null;
  /** Whether the server shows that file. */
  readonly has_html?: boolean;
  readonly problem: string | null;
}

export const experimentPath = (name: string, ...parts: readonly string[]) =>
  ["experiments", name, ...parts].map(encodeURIComponent).join("/");

/** Return the address of a document with the conversations behind a figure. */
export function trialsPath(name: string, setting: string, inCase: string | null): string {
  const query = new URLSearchParams({ setting, ...(inCase === null ? {} : { case: inCase }) });
  return `${experimentPath(name, "trials")}?${query}`;
}

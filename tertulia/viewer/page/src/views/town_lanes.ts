/** A day of a town as rows of a drawing: a row for each place, and in it a lane for each of those who are there at once. */

import type { DayOfTown, Encounter } from "./town_documents";

/** Somebody under one roof, between minutes after midnight. */
export interface Band {
  readonly name: string;
  readonly begins: number;
  ends: number;
  /** Where under the roof, in order of time. */
  readonly places: string[];
  lane: number;
}

export interface Row {
  /** Null: where it is, is not known. */
  readonly roof: string | null;
  readonly bands: Band[];
  lanes: number;
}

/** Return the places of a day in the order in which people come there; those who sleep are left out. */
export function rowsOf(day: DayOfTown): Row[] {
  const rows = new Map<string | null, Row>();
  for (const band of bandsOf(day).sort((a, b) => a.begins - b.begins)) {
    if (!rows.has(band.roof)) rows.set(band.roof, { roof: band.roof, bands: [], lanes: 0 });
    rows.get(band.roof)!.bands.push(band);
  }
  for (const row of rows.values()) layOut(row);
  return [...rows.values()];
}

/** Return people's stays as bands: those that follow each other under one roof are one. */
function bandsOf(day: DayOfTown): (Band & { roof: string | null })[] {
  return day.people.flatMap(({ name, stays }) => {
    const bands: (Band & { roof: string | null })[] = [];
    for (const { begins, ends, place, roof, asleep } of stays) {
      if (asleep) continue;
      const last = bands.at(-1);
      if (last && last.ends === begins && last.roof === roof) last.ends = ends;
      else bands.push({ name, begins, ends, places: [], lane: 0, roof });
      if (place !== null && bands.at(-1)!.places.at(-1) !== place) bands.at(-1)!.places.push(place);
    }
    return bands;
  });
}

/** Give each band of a row a lane that is free as long as it lasts: that which the person had before, else the first. */
function layOut(row: Row): void {
  const freeFrom: number[] = [];
  const own = new Map<string, number>();
  for (const band of row.bands) {
    const isFree = (lane: number | undefined) => lane !== undefined && (freeFrom[lane] ?? 0) <= band.begins;
    const before = own.get(band.name);
    const first = freeFrom.findIndex((_, lane) => isFree(lane));
    band.lane = isFree(before) ? before! : first >= 0 ? first : freeFrom.length;
    freeFrom[band.lane] = band.ends;
    own.set(band.name, band.lane);
  }
  row.lanes = freeFrom.length;
}

/** Where a conversation is in the drawing: its row, and the lanes of those of the two who are there. */
export interface Met {
  readonly row: Row;
  readonly lanes: readonly number[];
}

/** Return where a conversation is; null if neither of the two is shown. */
export function meetingOf(rows: readonly Row[], encounter: Encounter): Met | null {
  const minute = minuteOf(encounter.time);
  const row = rows.find(({ bands }) => bands.some((band) => isAt(band, minute, [encounter.initiator])))
    ?? rows.find(({ bands }) => bands.some((band) => isAt(band, minute, [encounter.partner])));
  if (!row) return null;
  return { row, lanes: row.bands.filter((band) => isAt(band, minute, [encounter.initiator, encounter.partner])).map(({ lane }) => lane) };
}

const isAt = (band: Band, minute: number, names: readonly string[]) => names.includes(band.name) && band.begins <= minute && minute < band.ends;

/** Return the minutes after midnight of a time without a zone, `2024-11-16T15:20:00`. */
export function minuteOf(iso: string): number {
  return 60 * Number(iso.slice(11, 13)) + Number(iso.slice(14, 16));
}

/** Return minutes after midnight as `08:05`. */
export function clock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
}

/** Who is at a place within an hour. */
export interface There {
  readonly roof: string | null;
  readonly names: readonly string[];
}

/** Return the hours of a day with who is where: of each hour the places at which that is other than an hour before. */
export function hoursOf(rows: readonly Row[]): { hour: number; changed: There[] }[] {
  const there = ({ bands }: Row, hour: number) => [...new Set(bands.filter(({ begins, ends }) => begins < 60 * hour + 60 && ends > 60 * hour).map(({ name }) => name))];
  return [...Array(24).keys()].map((hour) => ({
    hour,
    changed: rows
      .map((row) => ({ roof: row.roof, names: there(row, hour), before: there(row, hour - 1) }))
      .filter(({ names, before }) => names.length > 0 && names.join("\n") !== before.join("\n")),
  }));
}

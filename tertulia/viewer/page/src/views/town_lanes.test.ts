import { expect, test } from "vitest";
import type { DayOfTown, Encounter, Stay } from "./town_documents";
import { clock, hoursOf, meetingOf, minuteOf, rowsOf } from "./town_lanes";

const stay = (from: number, until: number, place: string, asleep = false): Stay => ({
  begins: 60 * from, ends: 60 * until, place, roof: place.split(" at ").at(-1)!, activity: null, asleep,
});
const day = (stays: Record<string, Stay[]>): DayOfTown => ({ day: 1, date: "2026-05-16", more: 0, people: Object.entries(stays).map(([name, stays]) => ({ name, stays })) });
const met = (initiator: string, partner: string, time: string) => ({ initiator, partner, time: `2026-05-16T${time}:00` }) as Encounter;

test("stays under one roof are one band, sleep is none, and places come in order of time", () => {
  const rows = rowsOf(day({ Ada: [stay(0, 6, "attic at Mill", true), stay(6, 7, "attic at Mill"), stay(7, 9, "yard at Mill"), stay(9, 12, "Quay")] }));
  expect(rows.map(({ roof, bands }) => [roof, bands.map(({ begins, ends, places }) => [begins / 60, ends / 60, places])])).toEqual([
    ["Mill", [[6, 9, ["attic at Mill", "yard at Mill"]]]],
    ["Quay", [[9, 12, ["Quay"]]]],
  ]);
});

test("people who are at a place at once have lanes of their own, which others take up later", () => {
  const [row] = rowsOf(day({ Ada: [stay(8, 9, "Quay"), stay(10, 11, "Quay")], Ben: [stay(8, 10, "Quay")], Cleo: [stay(9, 12, "Quay")] }));
  expect(row!.lanes).toBe(2);
  expect(row!.bands.map(({ name, lane }) => [name, lane])).toEqual([["Ada", 0], ["Ben", 1], ["Cleo", 0], ["Ada", 1]]);
});

test("a conversation is where the two are at that minute; without anybody there it has no place", () => {
  const rows = rowsOf(day({ Ada: [stay(8, 9, "Quay")], Ben: [stay(8, 9, "Quay")] }));
  expect(meetingOf(rows, met("Ben", "Ada", "08:30"))).toEqual({ row: rows[0], lanes: [0, 1] });
  expect(meetingOf(rows, met("Ben", "Ada", "09:00"))).toBeNull();
});

test("an hour tells of the places at which others are than before", () => {
  const hours = hoursOf(rowsOf(day({ Ada: [stay(8, 10, "Quay")], Ben: [stay(9, 10, "Quay")] })));
  expect(hours.filter(({ changed }) => changed.length).map(({ hour, changed }) => [hour, changed[0]!.names])).toEqual([[8, ["Ada"]], [9, ["Ada", "Ben"]]]);
});

test("times have no zone", () => {
  expect(clock(minuteOf("2026-05-16T08:05:00"))).toBe("08:05");
});

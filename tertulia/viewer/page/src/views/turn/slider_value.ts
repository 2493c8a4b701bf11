/**
 * What the slider of a turn says: λ, the order and the walk. λ is known here at once; the address has it, as a step of the
 * browser's history, once the slider rests. So a fork that is started in mid-drag takes what is shown.
 */

import { Listeners, useOutside } from "../../outside_value";
import { goWith, pathNow, usePlace } from "../../router";

/** The slider rests when it has not moved for so long, and no button is held. */
const RESTS_AFTER_MS = 350;

/** λ as it was moved last, until the address has it. */
let moved: { readonly factor: number | null; readonly path: string } | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let isHeld = false;
const listeners = new Listeners();

if (typeof addEventListener === "function") {
  addEventListener("pointerdown", () => void (isHeld = true), { capture: true });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => void (isHeld = false), { capture: true });
  // Another place is shown, by a link or the browser's buttons: what was dragged there is over.
  for (const left of ["hashchange", "popstate"]) addEventListener(left, () => forget());
}

/** Move λ in [0, 1], or back to the run's own by `null`. */
export function moveFactor(factor: number | null): void {
  moved = { factor, path: pathNow() };
  listeners.tell();
  clearTimeout(timer);
  timer = setTimeout(rest, RESTS_AFTER_MS);
}

function rest(): void {
  if (isHeld) {
    timer = setTimeout(rest, RESTS_AFTER_MS);
    return;
  }
  if (moved === null) return;
  const { factor, path } = moved;
  forget();
  if (path === pathNow()) goWith({ lambda: factor }, false);
}

/** Go back to the run's own λ, order and walk, as a step of the history. */
export function resetSlider(): void {
  forget();
  goWith({ lambda: null, order: null, walk: null }, false);
}

function forget(): void {
  clearTimeout(timer);
  moved = null;
  listeners.tell();
}

/** Return λ in [0, 1] as it is asked for, `null` for the run's own; draw anew as it is moved. */
export function useFactor(): number | null {
  const asked = factorOf(usePlace().query.lambda);
  const dragged = useOutside(listeners.add, () => moved);
  return dragged === null ? asked : dragged.factor;
}

export function factorOf(given: string | undefined): number | null {
  const factor = given === undefined || given.trim() === "" ? NaN : Number(given);
  return factor >= 0 && factor <= 1 ? factor : null;
}

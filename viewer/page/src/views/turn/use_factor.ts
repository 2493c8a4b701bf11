/** The λ that is asked for: what the slider says now, and a moment later what the address says. */

import { useEffect, useRef, useState } from "preact/hooks";
import { goWith, usePlace } from "../../router";

/** An address is written so long after the slider's last move: browsers refuse to be given one at every frame. */
const WRITTEN_AFTER_MS = 200;

/** Return λ in [0, 1] as it is asked for, `null` for the run's own, and what changes it. */
export function useFactor(): [number | null, (factor: number | null) => void] {
  const asked = factorOf(usePlace().query.lambda);
  const [factor, setFactor] = useState(asked);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (timer.current === undefined) setFactor(asked); // the address changed, and not by the slider
  }, [asked]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (factor: number | null) => {
    setFactor(factor);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = undefined;
      goWith({ lambda: factor });
    }, WRITTEN_AFTER_MS);
  };
  return [factor, change];
}

function factorOf(given: string | undefined): number | null {
  const factor = given === undefined || given.trim() === "" ? NaN : Number(given);
  return factor >= 0 && factor <= 1 ? factor : null;
}

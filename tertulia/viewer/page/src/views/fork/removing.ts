/** What the slider has set: λ, order and walk, which a fork takes. */

import type { Run } from "../../documents";
import { usePlace } from "../../router";
import { useFactor } from "../turn/slider_value";
import type { Removing } from "./draft";

export const ORDERS = { descending: "highest score down", ascending: "lowest score up", placebo: "placebo" } as const;
export const WALKS = { paper: "skip what overshoots", first_overshoot: "end at what overshoots", nearest: "nearest to λ", calm: "calm" } as const;

/** Return λ, order and walk as a run has them. */
export function removingOf({ parameters }: Run): Removing {
  return {
    factor: parameters.removal_factor,
    order: String(parameters.removal_order ?? "descending"),
    walk: String(parameters.removal_walk ?? "paper"),
  };
}

/** Return λ, order and walk as they are set on the page; what is not set is the run's. */
export function useRemoving(run: Run): Removing {
  const factor = useFactor();
  const { query } = usePlace();
  const own = removingOf(run);
  const { order = "", walk = "" } = query;
  return {
    factor: factor === null ? own.factor : Number(factor.toFixed(4)),
    order: Object.hasOwn(ORDERS, order) ? order : own.order,
    walk: Object.hasOwn(WALKS, walk) ? walk : own.walk,
  };
}

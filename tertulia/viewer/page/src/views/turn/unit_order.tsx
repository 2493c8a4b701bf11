/** The order of the units of a prompt: by weight, heaviest first, or as they stand in the prompt; one switch, remembered. */

import { useState } from "preact/hooks";
import { goWith, usePlace } from "../../router";

export type UnitOrder = "weight" | "prompt";

const KEY = "tertulia-units";
const NAMES: Readonly<Record<UnitOrder, string>> = { weight: "By weight", prompt: "In prompt order" };

function isOrder(value: unknown): value is UnitOrder {
  return value === "weight" || value === "prompt";
}

function remembered(): UnitOrder {
  try {
    const value = localStorage.getItem(KEY);
    return isOrder(value) ? value : "weight";
  } catch {
    return "weight"; // a page in a sandbox keeps nothing
  }
}

/** Return the order that the address asks for, or else the one that was chosen last, and what changes it. */
export function useUnitOrder(): [UnitOrder, (order: UnitOrder) => void] {
  const asked = usePlace().query.units;
  const [kept, keep] = useState(remembered);
  const choose = (order: UnitOrder) => {
    try {
      localStorage.setItem(KEY, order);
    } catch {
      // kept in the address all the same
    }
    keep(order);
    goWith({ units: order });
  };
  return [isOrder(asked) ? asked : kept, choose];
}

export function OrderSwitch({ order, setOrder }: { order: UnitOrder; setOrder: (order: UnitOrder) => void }) {
  return (
    <span class="switched" role="group" aria-label="Order of the units">
      {(["weight", "prompt"] as const).map((name) => (
        <button key={name} aria-pressed={order === name} onClick={() => setOrder(name)}>{NAMES[name]}</button>
      ))}
    </span>
  );
}

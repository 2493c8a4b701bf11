/** A list of which only the rows in view are drawn: tanstack's virtual core under Preact. */

import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useState } from "preact/hooks";

export interface VirtualRows {
  readonly count: number;
  readonly element: () => HTMLElement | null;
  readonly estimate: (index: number) => number;
  readonly keyOf: (index: number) => string | number;
  readonly initialOffset?: number;
}

/** Return the virtualizer of a list, and draw anew when other rows come into view or one has another height. */
export function useVirtualRows(rows: VirtualRows): Virtualizer<HTMLElement, HTMLElement> {
  const [, redraw] = useState(0);
  const options = {
    count: rows.count,
    getScrollElement: rows.element,
    estimateSize: rows.estimate,
    getItemKey: rows.keyOf,
    initialOffset: rows.initialOffset ?? 0,
    overscan: 6,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    measureElement,
    onChange: () => redraw((times) => times + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}

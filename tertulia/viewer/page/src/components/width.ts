/** How wide an element is, for what is drawn to fill it, and whether the window is a narrow one. */

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { useMatches } from "../outside_value";

/** Return the width of an element in pixels, at least so many, and draw anew when it changes. */
export function useWidth(element: RefObject<HTMLElement | null>, least: number): number {
  const [width, setWidth] = useState(least);
  useLayoutEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(least, Math.floor(entry!.contentRect.width))));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element.current !== null]);
  return width;
}

/** What a narrow window is, as styles/narrow.css has it. */
const narrow = matchMedia("(max-width: 700px)");

/** Return whether the window is a narrow one, such as a telephone's, and draw anew when that changes. */
export function useIsNarrow(): boolean {
  return useMatches(narrow);
}

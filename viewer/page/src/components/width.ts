/** How wide an element is, for what is drawn to fill it. */

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

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

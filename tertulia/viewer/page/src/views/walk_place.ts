/** Where the card of the walk stands: beside what it speaks about, never over it. */

/** Pixels between the card and what is marked, with its frame. */
const APART = 12;
/** Corners of the window as the stylesheet knows them, the usual one first; in a narrow window the card fills the width. */
const CORNERS = ["below right", "below left", "above right", "above left"] as const;

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Whether two boxes overlap, or are not so far apart. */
export function meet(a: Box, b: Box, apart: number): boolean {
  return a.left < b.right + apart && b.left < a.right + apart && a.top < b.bottom + apart && b.top < a.bottom + apart;
}

/**
 * Put the card into the first corner in which it covers neither of two elements; without one, as `placeFree` does.
 *
 * @param besides what the text speaks of besides what is marked
 */
export function placeBeside(card: HTMLElement, marked: HTMLElement, besides: HTMLElement | null): boolean {
  const isFree = () => besides === null || !meet(card.getBoundingClientRect(), besides.getBoundingClientRect(), APART);
  const preferred = CORNERS.find((corner) => placeFree(card, marked, [corner]) && isFree());
  return preferred !== undefined || placeFree(card, marked, [...CORNERS, CORNERS[0]]);
}

/**
 * Put the card into the first corner in which it covers nothing of what is marked, which is scrolled beside it, and return
 * true; into the usual corner, and return false, where that is larger than what the card leaves of the window.
 */
function placeFree(card: HTMLElement, marked: HTMLElement, corners: readonly string[]): boolean {
  for (const corner of corners) {
    card.dataset.corner = corner;
    const [box, of] = [card.getBoundingClientRect(), marked.getBoundingClientRect()];
    const isAside = box.left >= of.right + APART || box.right + APART <= of.left;
    const room = `${isAside ? 2 * APART : Math.ceil(box.height) + 3 * APART}px`;
    marked.style.scrollMarginBlock = corner.startsWith("below") ? `${2 * APART}px ${room}` : `${room} ${2 * APART}px`;
    marked.scrollIntoView({ block: "nearest" });
    if (!meet(card.getBoundingClientRect(), marked.getBoundingClientRect(), APART)) return true;
  }
  return false;
}

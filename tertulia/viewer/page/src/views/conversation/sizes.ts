/** Sizes of the timeline in pixels. */

/** The height of its axis. */
export const AXIS = 18;
/** The height of the lane of a speaker. */
export const LANE = 18;

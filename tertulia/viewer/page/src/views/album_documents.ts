/** The document of viewer/documents/population.py. */

export interface PictureExchange {
  readonly turn: number;
  readonly round: number;
  readonly asker: string;
  readonly answerer: string;
  readonly passed: boolean;
}

/** A picture and how it travelled. */
export interface AlbumPicture {
  readonly id: string;
  readonly caption: string;
  /** As a data URL; null where it is not shown, for the reason in `no_image`. */
  readonly image: string | null;
  readonly no_image: string | null;
  readonly first_holders: readonly string[];
  readonly exchanges: readonly PictureExchange[];
  readonly lost: readonly { readonly turn: number; readonly agent: string }[];
  readonly holders: readonly string[];
  /** How many have seen it: before the first round, and by the end of each. */
  readonly seen_by: readonly number[];
  /** By person the round in which they first saw it; 0: they had it at first. */
  readonly first_seen: Readonly<Record<string, number>>;
}

export interface Album {
  readonly run: string;
  readonly setting: string | null;
  readonly people: readonly string[];
  readonly rounds: number;
  readonly agents: readonly {
    readonly agent: string;
    readonly asked: number;
    readonly answered: number;
    readonly words: number;
    readonly pictures_shown: number;
    readonly pictures_received: number;
    readonly partners: number;
  }[];
  readonly pictures: readonly AlbumPicture[];
}

/** The picture of an exchange, small: read when it comes into view. */

import { useEffect, useRef, useState } from "preact/hooks";
import { source } from "../source";
import "../styles/thumbnail.css";
import { useDocument } from "../use_document";
import type { Album } from "../views/album_documents";

/** A picture as `pictures/RUN/ID` has it, and as an exported file's `runs/RUN/album` does. */
export interface ShownPicture {
  readonly id: string;
  readonly caption: string;
  readonly image: string | null;
  readonly no_image: string | null;
}

export interface PictureOfExchange {
  readonly id: string;
  readonly caption: string;
  readonly variant?: string | null;
  /** None where the store has the caption alone. */
  readonly file?: { readonly width: number; readonly height: number } | null;
}

interface Props {
  readonly run: string;
  readonly picture: PictureOfExchange;
  /** Whether a picture of which there is only a caption is said to be one. */
  readonly saysNone?: boolean;
}

export function Thumbnail({ run, picture, saysNone = false }: Props) {
  const place = useRef<HTMLSpanElement>(null);
  const [isSeen, see] = useState(false);
  const [isBroken, breakIt] = useState(false);
  const hasFile = Boolean(picture.file);
  const [one, all] = [`pictures/${encodeURIComponent(run)}/${encodeURIComponent(picture.id)}`, `runs/${encodeURIComponent(run)}/album`];
  const read = useDocument<ShownPicture | Album>(isSeen && hasFile ? (source.isFile ? all : one) : null);
  useEffect(() => {
    if (!place.current) return;
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && see(true), { rootMargin: "200px" });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => breakIt(false), [picture.id]);
  if (!hasFile && !saysNone) return null;
  const found = read.state === "ready" ? pictureOf(read.value, picture.id) : null;
  const problem = !hasFile
    ? "the store has its caption alone"
    : isBroken
      ? "its bytes can't be drawn"
      : read.state === "failed"
        ? read.error
        : read.state === "ready" && !found?.image && (found?.no_image ?? "it is not here");
  return (
    <span class={`thumbnail ${problem ? "no-picture" : ""}`} ref={place} style={problem || !picture.file ? {} : { aspectRatio: `${picture.file.width} / ${picture.file.height}` }}>
      {problem
        ? <span class="small muted data">not shown: {problem}</span>
        : found?.image && <img src={found.image} alt={found.caption} title={found.caption} loading="lazy" decoding="async" onError={() => breakIt(true)} />}
    </span>
  );
}

function pictureOf(read: ShownPicture | Album, id: string): ShownPicture | null {
  return "pictures" in read ? (read.pictures.find((picture) => picture.id === id) ?? null) : read;
}

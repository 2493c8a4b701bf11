/** The pictures that an album chat was about first, read when they come into view. */

import { useEffect, useRef, useState } from "preact/hooks";
import { counted } from "../format";
import { useDocument } from "../use_document";

interface Strip {
  readonly pictures: readonly { readonly id: string; readonly caption: string; readonly image: string }[];
}

export function PictureStrip({ run }: { run: string }) {
  const place = useRef<HTMLSpanElement>(null);
  const [isSeen, see] = useState(false);
  const [broken, breakOne] = useState<readonly string[]>([]);
  const strip = useDocument<Strip>(isSeen ? `strips/${encodeURIComponent(run)}` : null);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && see(true), { rootMargin: "200px" });
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  const pictures = strip.state === "ready" ? strip.value.pictures.filter(({ id }) => !broken.includes(id)) : [];
  if (strip.state === "ready" && !pictures.length && !broken.length) return null;
  return (
    <span class="strip" ref={place}>
      {pictures.map(({ id, caption, image }) => <img key={id} src={image} alt={caption} title={caption} loading="lazy" onError={() => breakOne((ids) => [...ids, id])} />)}
      {broken.length > 0 && <span class="small muted">{counted(broken.length, "picture")} can't be drawn</span>}
    </span>
  );
}

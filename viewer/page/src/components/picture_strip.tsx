/** The first pictures of an album chat, read when they come into view. */

import { useEffect, useRef, useState } from "preact/hooks";
import { useDocument } from "../use_document";

interface Strip {
  readonly pictures: readonly { readonly id: string; readonly caption: string; readonly image: string }[];
}

export function PictureStrip({ run }: { run: string }) {
  const place = useRef<HTMLSpanElement>(null);
  const [isSeen, see] = useState(false);
  const strip = useDocument<Strip>(isSeen ? `strips/${encodeURIComponent(run)}` : null);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && see(true), { rootMargin: "200px" });
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  const pictures = strip.state === "ready" ? strip.value.pictures : [];
  if (strip.state === "ready" && !pictures.length) return null;
  return (
    <span class="strip" ref={place}>
      {pictures.map(({ id, caption, image }) => <img key={id} src={image} alt={caption} title={caption} />)}
    </span>
  );
}

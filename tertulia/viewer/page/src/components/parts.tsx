/** Small parts that several views share. */

import type { ComponentChildren } from "preact";
import { hrefOf } from "../router";
import type { Loaded } from "../use_document";
import { Prose } from "./explained";

/** What a reader should know: that something is missing or went wrong, and what to do. */
export function Notice({ title, isBad, children }: { title?: string; isBad?: boolean; children?: ComponentChildren }) {
  return (
    <div class={`notice stack ${isBad ? "bad" : ""}`} role={isBad ? "alert" : "status"}>
      {title && <h2>{title}</h2>}
      {children}
    </div>
  );
}

interface WithDocumentProps<T> {
  readonly of: Loaded<T>;
  /** The heading of a whole page that can't be shown; without it, a part of one. */
  readonly heading?: string;
  readonly children: (value: T) => ComponentChildren;
}

/** A document once it is there; until then that it is being read, or why it can't be. */
export function WithDocument<T>({ of, heading, children }: WithDocumentProps<T>) {
  if (of.state === "loading") return <p class="muted" role="status">Reading…</p>;
  if (of.state === "failed") {
    return (
      <>
        {heading && <h1>{heading}</h1>}
        <Notice isBad>
          <p class="data">{of.error}</p>
          {heading && <a href={hrefOf(["runs"])}>Show all runs</a>}
        </Notice>
      </>
    );
  }
  return <>{children(of.value)}</>;
}

/** Names with values, side by side. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt><Prose text={name} /></dt>
          <dd class="data">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Links between the parts of a view, the shown one marked. */
export function Tabs({ label, links, shown }: { label: string; links: readonly (readonly [string, string])[]; shown: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {links.map(([name, href]) => (
        <a key={name} href={href} aria-current={name === shown ? "page" : undefined}>{name}</a>
      ))}
    </nav>
  );
}

/** The status of a run, and why it ended. */
export function Status({ status, endedBy = null }: { status: string; endedBy?: string | null }) {
  const kind = { finished: "good", failed: "bad", running: "live" }[status] ?? "";
  return <span class={`tag ${kind}`}>{status}{endedBy && ` (${endedBy})`}</span>;
}

/** Two runs side by side: what they were made with, where they part, and every turn that differs. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Facts, Notice, Status, WithDocument } from "../components/parts";
import { inWords, lambda, listed } from "../format";
import { hrefOf } from "../router";
import "../styles/compare.css";
import type { Comparison, Setting, Side } from "./compare_documents";
import { type Followed, isGoing, useComparison } from "./compare_follow";
import { LongText } from "./compare_turn";
import { axisName } from "./experiment/points";
import { Differences } from "./compare_turns";

const SETTINGS_SHOWN = 8;
const PEOPLE_SHOWN = 6;
const KINDS = { dialogue: "a dialogue", group_chat: "a meeting", album_chat: "an album chat" };

export function CompareView({ a, b }: { a: string; b: string }) {
  const [compared, followed] = useComparison(a, b);
  return (
    <main class="view compare">
      <h1>Compare <span class="code data">{a}</span> and <span class="code data">{b}</span></h1>
      {compared.state === "failed" && <p><a href={hrefOf(["runs"])}>Choose two runs from the list</a></p>}
      <WithDocument of={compared}>{(compared) => <Shown compared={compared} followed={followed} />}</WithDocument>
    </main>
  );
}

function Shown({ compared, followed }: { compared: Comparison; followed: Followed }) {
  const { a, b, settings, parting, summary } = compared;
  const mixed = a.kind !== b.kind && `A is ${KINDS[a.kind]}, B is ${KINDS[b.kind]}: only what both have is compared.`;
  const waiting = waitingFor(compared, followed);
  const notice = useRef<HTMLDivElement>(null);
  const isWaiting = waiting !== null;
  useEffect(() => {
    if (isWaiting) notice.current?.scrollIntoView({ block: "start" }); // what is growing is in view
  }, [isWaiting]);
  return (
    <>
      <div class="sides">
        <About name="A" side={a} />
        <About name="B" side={b} />
      </div>
      <p class="small"><a href={hrefOf(["compare", b.run, a.run])}>Swap A and B</a></p>
      {mixed && <p class="muted">{mixed}</p>}
      {settings.length > 0 && <Settings settings={settings} />}
      <div role="status" ref={notice}>{waiting !== null && <p class="notice waiting"><span class="pulse" aria-hidden="true" /> {waiting}</p>}</div>
      {waiting === null && summary !== null && <Notice title="Nothing differs"><p class="data">{summary}.</p></Notice>}
      {waiting === null && summary === null && parting === null && (
        <Notice title="All turns are the same"><p>Their settings differ, but nothing in the turns does.</p></Notice>
      )}
      {parting !== null && <Differences compared={compared} followed={followed} isWaiting={waiting !== null} />}
    </>
  );
}

/** Return what is waited for while a run goes on and no turn that both have differs; null where one does. */
function waitingFor({ a, b, first_divergence: parting }: Comparison, followed: Followed): string | null {
  if (parting !== null && parting.only_in === null) return null;
  const behind = a.turns < b.turns ? "a" : a.turns > b.turns ? "b" : isGoing(followed.b) ? "b" : "a";
  if (!isGoing(followed[behind])) return null;
  const both = Math.min(a.turns, b.turns);
  const soFar = both === 0 ? "Nothing is said yet" : both === 1 ? "The same in turn 1" : `The same up to turn ${both}`;
  return `${soFar}; waiting for turn ${both + 1} of ${behind.toUpperCase()}. The first difference is shown here as soon as it is there.`;
}

function About({ name, side }: { name: "A" | "B"; side: Side }) {
  return (
    <section class="card stack" aria-label={`Run ${name}`}>
      <p class="row">
        <strong class={`side-${name}`}>{name}</strong>
        <a class="code data" href={hrefOf(["runs", side.run])}>{side.run}</a>
        <Status status={side.status} />
        {side.label && <span class="data muted">{side.label}</span>}
      </p>
      {side.people && <p class="people-of data">{listed(side.people.slice(0, PEOPLE_SHOWN))}{side.people.length > PEOPLE_SHOWN && ` and ${side.people.length - PEOPLE_SHOWN} more`}</p>}
      {side.first_line && <p class="words first-line data"><span class="visually-hidden">First line: </span>{side.first_line}</p>}
      <Facts
        of={[
          ["scenario", side.title ?? side.scenario],
          ["λ", lambda(side.removal_factor)],
          ["seed", side.seed],
          ["model", side.model],
          ["turns", side.turns],
          ...(side.order ? [["order", inWords(side.order)] as const] : []),
          ...(side.parent ? [["forked from", `${side.parent.run} at turn ${side.parent.turn}`] as const] : []),
        ]}
      />
      {side.error && <p class="notice bad small data">{side.error}</p>}
    </section>
  );
}

function Settings({ settings }: { settings: readonly Setting[] }) {
  const [isAll, showAll] = useState(settings.length <= SETTINGS_SHOWN + 2);
  return (
    <section class="stack">
      <h2>Settings that differ</h2>
      <div class="scroller" tabIndex={0} role="region" aria-label="Settings that differ">
        <table class="settings">
          <thead><tr><th scope="col">setting</th><th scope="col">A</th><th scope="col">B</th></tr></thead>
          <tbody>
            {settings.slice(0, isAll ? undefined : SETTINGS_SHOWN).map(({ path, a, b }) => (
              <tr key={path.join("\n")}>
                <th scope="row" class="data" title={path.join(".")}>{settingName(path)}</th>
                <td class="data"><LongText text={valueOf(a)} limit={200} /></td>
                <td class="data"><LongText text={valueOf(b)} limit={200} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {!isAll && <p><button onClick={() => showAll(true)}>Show all {settings.length} settings that differ</button></p>}
    </section>
  );
}

/** Return what a setting is called on the page; its title has the path. */
function settingName(path: readonly string[]): string {
  const [kind = "", ...names] = path;
  return kind === "parameters" && names.length ? names.map(axisName).join(", ") : path.map(inWords).join(", ");
}

function valueOf(value: unknown): string {
  return value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value);
}

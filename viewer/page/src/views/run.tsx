/** A run: what it is, and the views of it. */

import { Facts, Notice, Status, Tabs, WithDocument } from "../components/parts";
import type { Run } from "../documents";
import { number } from "../format";
import { hrefOf } from "../router";
import { useDocument } from "../use_document";
import { AlbumView } from "./album";
import { ConversationView } from "./conversation";
import { FiguresView } from "./figures";
import { MindsView } from "./minds";

export function RunView({ id, part }: { id: string; part: string }) {
  const run = useDocument<Run>(`runs/${encodeURIComponent(id)}`);
  return <main class="view"><WithDocument of={run}>{(run) => <Parts run={run} part={part} />}</WithDocument></main>;
}

function Parts({ run, part }: { run: Run; part: string }) {
  const at = (name: string) => hrefOf(["runs", run.run, ...(name ? [name] : [])]);
  const links: [string, string][] = [["Conversation", at("")]];
  if (run.kind === "group_chat") links.push(["Minds", at("minds")]);
  if (run.kind === "album_chat") links.push(["Album", at("album")]);
  links.push(["Figures", at("figures")]);
  const shown = { "": "Conversation", minds: "Minds", album: "Album", figures: "Figures" }[part];
  return (
    <>
      <div class="heading">
        <h1><span class="code">{run.run}</span></h1>
        <Status status={run.status} />
        {run.rehearsed && <span class="tag">rehearsed: no model spoke</span>}
        <Facts
          of={[
            ["scenario", run.scenario],
            ["λ", number(run.parameters.removal_factor)],
            ["seed", run.seed],
            ["model", run.model],
            ["begun", run.date],
            ...(run.label ? [["label", run.label] as const] : []),
            ...(run.parent
              ? [["forked from", <a href={hrefOf(["compare", run.parent.run, run.run])}>{run.parent.run} at turn {run.parent.turn}</a>] as const]
              : []),
          ]}
        />
      </div>
      {run.error && <Notice isBad><p class="data">{run.error}</p></Notice>}
      <Tabs label="Views of this run" links={links} shown={shown ?? ""} />
      {part === "" && <ConversationView run={run} />}
      {part === "minds" && <MindsView run={run} />}
      {part === "album" && <AlbumView run={run} />}
      {part === "figures" && <FiguresView run={run} />}
      {shown === undefined && <Notice title="There is no such view"><a href={at("")}>Show the conversation</a></Notice>}
    </>
  );
}

/** The page: the view that its address names, below a line that leads to the others. */

import { render } from "preact";
import { useEffect } from "preact/hooks";
import { FileNote } from "./components/file_note";
import { ConnectionLine } from "./components/connection";
import { StoreName } from "./components/store_name";
import { Notice } from "./components/parts";
import { ThemeButton } from "./components/theme";
import { go, hrefOf, placeOf, usePlace } from "./router";
import { seatToken } from "./seat_request";
import { source } from "./source";
import "../../../lab/pages/tokens.css"; // a report has the same two
import "../../../lab/pages/elements.css";
import "./styles/components.css";
import { CompareView } from "./views/compare";
import { ExperimentView } from "./views/experiment";
import { ExperimentsView } from "./views/experiments";
import { NewView } from "./views/new";
import { RunView } from "./views/run";
import { RunsView } from "./views/runs";
import { SeatPage } from "./views/seat";
import { TownView } from "./views/town";
import { useWalk } from "./views/walk";
import "./styles/narrow.css";

function Page() {
  const { path } = usePlace();
  const walk = useWalk();
  useEffect(() => void (document.title = titleOf(path)), [path.join("/")]);
  return (
    <>
      <header class="top">
        <a class="brand" href={hrefOf(["runs"])}>Tertulia</a>
        <FileNote />
        <StoreName />
        <span style={{ flex: 1 }} />
        {walk.again}
        <ThemeButton />
      </header>
      <ConnectionLine />
      <View path={path} />
      {walk.card}
    </>
  );
}

/** Return what tells this view from others in a row of tabs. */
function titleOf([kind = "runs", first, second = ""]: readonly string[]): string {
  if (first === undefined) return `${{ experiments: "Experiments", new: "New conversation" }[kind] ?? "Runs"} · Tertulia`;
  return `${kind === "compare" ? `${first} and ${second}` : [first, second].filter(Boolean).join(", ")} · Tertulia`;
}

function View({ path }: { path: readonly string[] }) {
  const [kind = "runs", first = "", second = ""] = path;
  if (kind === "runs" && first) return <RunView id={first} part={second} />;
  if (kind === "runs") return <RunsView />;
  if (kind === "new" && !source.isFile) return <NewView />;
  if (kind === "compare" && first && second) return <CompareView a={first} b={second} />;
  if (kind === "towns" && first) return <TownView simulation={first} />;
  if (kind === "experiments" && !first && !source.isFile) return <ExperimentsView />;
  if (kind === "experiments" && first) return <ExperimentView name={first} />;
  return (
    <main class="view">
      <h1>There is no such page</h1>
      <Notice>
        <a href={hrefOf(["runs"])}>Show all runs</a>
      </Notice>
    </main>
  );
}

if (source.about && placeOf(location.hash).path.length === 0) go(hrefOf(["runs", source.about.run]), true);

render(seatToken === null ? <Page /> : <SeatPage />, document.getElementById("page")!);

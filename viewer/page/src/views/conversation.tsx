/** A conversation: its timeline, its transcript, and beside them how the chosen turn came about. */

import { WithDocument } from "../components/parts";
import { Speaker } from "../components/speakers";
import type { Run, Turns } from "../documents";
import { goWith, usePlace } from "../router";
import { useDocument } from "../use_document";
import { TurnPane } from "./turn";

export function ConversationView({ run }: { run: Run }) {
  const turns = useDocument<Turns>(`runs/${encodeURIComponent(run.run)}/turns`);
  const chosen = Number(usePlace().query.turn ?? 1);
  return (
    <WithDocument of={turns}>
      {({ turns }) => (
        <div class="stack">
          <ol>
            {turns.map((turn) => (
              <li key={turn.turn}>
                <button class="plain" onClick={() => goWith({ turn: turn.turn })}>{turn.turn}</button>{" "}
                {turn.speaker && <Speaker people={run.people} name={turn.speaker} />} <span class="words data">{turn.text}</span>
              </li>
            ))}
          </ol>
          <TurnPane run={run} turn={chosen} />
        </div>
      )}
    </WithDocument>
  );
}

/** An album chat: who has seen which picture, by round, and the journey of each. */

import { scaleLinear } from "d3-scale";
import { useMemo, useState } from "preact/hooks";
import { Notice, WithDocument } from "../components/parts";
import { BottomAxis, LeftAxis, Legend, legendPlaces, Plot, Series } from "../components/plot";
import type { Run } from "../documents";
import { counted } from "../format";
import { goWith, hrefOf, usePlace } from "../router";
import "../styles/album.css";
import "../styles/matrix.css";
import { type RunProgress, versionOf } from "../live";
import { useDocument } from "../use_document";
import type { Album, AlbumPicture } from "./album_documents";
import { LongText } from "./compare_turn";

const PEOPLE_SHOWN = 40;
const PICTURES_SHOWN = 24;
/** Curves that can be told apart in a plot. */
const CURVES = 6;

export function AlbumView({ run, live }: { run: Run; live: RunProgress | null }) {
  const album = useDocument<Album>(`runs/${encodeURIComponent(run.run)}/album`, versionOf(run, live));
  return <WithDocument of={album}>{(album) => <Shown album={album} />}</WithDocument>;
}

function Shown({ album }: { album: Album }) {
  const { query } = usePlace();
  const asked = query.round === undefined ? album.rounds : Number(query.round);
  const round = Number.isInteger(asked) ? Math.min(Math.max(asked, 0), album.rounds) : album.rounds;
  const picture = album.pictures.find(({ id }) => id === query.picture) ?? null;
  return (
    <div class="stack album">
      <h2>Who has seen which picture</h2>
      {album.rounds === 0 && <Notice><p>No exchange has taken place yet: everybody has seen only the pictures of their own album.</p></Notice>}
      <RoundSlider rounds={album.rounds} round={round} />
      <Matrix album={album} round={round} chosen={picture} />
      {query.picture !== undefined && picture === null && <Notice><p class="data">There is no picture {query.picture} in these albums.</p></Notice>}
      <div class="beside">
        {picture ? <Journey album={album} picture={picture} round={round} /> : <p class="muted">Choose a picture above to follow its journey.</p>}
        <Curves album={album} picture={picture} round={round} />
      </div>
      <Totals album={album} />
    </div>
  );
}

function RoundSlider({ rounds, round }: { rounds: number; round: number }) {
  const show = (next: number) => goWith({ round: next === rounds ? null : next });
  return (
    <div class="row">
      <label class="row">
        <span>by the end of round</span>
        <input
          type="range"
          min={0}
          max={rounds}
          step={1}
          value={round}
          aria-valuetext={round ? `round ${round} of ${rounds}` : "before the first round"}
          onInput={(event) => show(Number(event.currentTarget.value))}
        />
      </label>
      <output class="number">{round === 0 ? "before the first" : `${round} of ${rounds}`}</output>
      <button disabled={round === 0} onClick={() => show(round - 1)}>Earlier</button>
      <button disabled={round === rounds} onClick={() => show(round + 1)}>Later</button>
    </div>
  );
}

/** Return how many have seen a picture by the end of a round. */
const seenBy = ({ first_seen }: AlbumPicture, round: number) => Object.values(first_seen).filter((first) => first <= round).length;

function Matrix({ album, round, chosen }: { album: Album; round: number; chosen: AlbumPicture | null }) {
  const [shown, show] = useState({ people: PEOPLE_SHOWN, pictures: PICTURES_SHOWN });
  const pictures = useMemo(() => {
    const first = album.pictures.slice(0, shown.pictures);
    return chosen && !first.includes(chosen) ? [...first, chosen] : first;
  }, [album, shown.pictures, chosen]);
  const people = album.people.slice(0, shown.people);
  const shade = (first: number) => (album.rounds ? 4 - Math.min(3, Math.floor((3 * first) / album.rounds)) : 4);
  return (
    <section class="stack">
      <p class="small muted">
        A number is the round in which the person first saw the picture (a stronger colour is earlier). “had”: it was in their album from the start. “·”: not seen. Pictures that most people saw come first.
      </p>
      <div class="scroller" tabIndex={0} role="region" aria-label="Who has seen which picture">
        <table class="matrix seen">
          <thead>
            <tr>
              <th scope="col">person</th>
              {pictures.map((picture) => (
                <th key={picture.id} scope="col">
                  <button class="picture" aria-pressed={picture === chosen} title={picture.caption} onClick={() => goWith({ picture: picture === chosen ? null : picture.id })}>
                    {picture.image && <img src={picture.image} alt="" loading="lazy" />}
                    <span class="data">{picture.caption.length > 40 ? `${picture.caption.slice(0, 40)}…` : picture.caption}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {people.map((name) => (
              <tr key={name}>
                <th scope="row" class="data">{name}</th>
                {pictures.map((picture) => {
                  const first = Object.hasOwn(picture.first_seen, name) ? picture.first_seen[name]! : null;
                  const has = first !== null && first <= round;
                  return (
                    <td key={picture.id} class={`number ${has ? `shade-${shade(first)}` : "shade-0"} ${picture === chosen ? "chosen" : ""}`}>
                      {has ? first || "had" : "·"}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">seen by</th>
              {pictures.map((picture) => <td key={picture.id} class="number">{seenBy(picture, round)}</td>)}
            </tr>
          </tfoot>
        </table>
      </div>
      <div class="row">
        {album.people.length > people.length && <button onClick={() => show({ ...shown, people: shown.people + 2 * PEOPLE_SHOWN })}>Show more of {album.people.length.toLocaleString("en")} people</button>}
        {album.pictures.length > pictures.length && <button onClick={() => show({ ...shown, pictures: shown.pictures + PICTURES_SHOWN })}>Show more of {counted(album.pictures.length, "picture")}</button>}
      </div>
    </section>
  );
}

const SOME = 12;

function Names({ names }: { names: readonly string[] }) {
  if (!names.length) return <>nobody</>;
  return <span class="data">{names.slice(0, SOME).join(", ")}{names.length > SOME && ` and ${names.length - SOME} more`}</span>;
}

/** How a picture travelled, to the end of the chosen round. */
function Journey({ album, picture, round }: { album: Album; picture: AlbumPicture; round: number }) {
  const [shown, show] = useState(60);
  const lost = new Map(picture.lost.map(({ turn, agent }) => [turn, agent]));
  const turns = new Map(picture.exchanges.map((exchange) => [exchange.turn, exchange]));
  const lastTurn = round === album.rounds ? Infinity : lastTurnOf(album, round);
  const events = [...new Set([...turns.keys(), ...lost.keys()])].sort((a, b) => a - b).filter((turn) => turn <= lastTurn);
  return (
    <section class="stack journey">
      <h3>The journey of <span class="data">{picture.caption}</span></h3>
      {picture.image
        ? <img class="whole" src={picture.image} alt={picture.caption} />
        : <p class="small muted">The picture itself is not shown: {picture.no_image}.</p>}
      <ol>
        <li><strong>at first</strong> in the album of <Names names={picture.first_holders} /></li>
        {events.slice(0, shown).map((turn) => {
          const exchange = turns.get(turn);
          return (
            <li key={turn}>
              <a class="number" href={hrefOf(["runs", album.run], { turn })}>{exchange && `round ${exchange.round}, `}turn {turn}</a>{" "}
              {exchange && (
                <>
                  <span class="data">{exchange.asker}</span> asks <span class="data">{exchange.answerer}</span> about it
                  {exchange.passed && <>, and it <strong>goes into the album</strong> of <span class="data">{exchange.answerer}</span></>}
                  {lost.has(turn) && "; "}
                </>
              )}
              {lost.has(turn) && <>it <strong>leaves the album</strong> of <span class="data">{lost.get(turn)}</span> for another picture</>}
            </li>
          );
        })}
        {round === album.rounds && events.length <= shown && <li><strong>in the end</strong> in the album of <Names names={picture.holders} /></li>}
      </ol>
      {events.length > shown && <p><button onClick={() => show(shown + 200)}>Show more of {counted(events.length, "event")}</button></p>}
    </section>
  );
}

/** Return the last turn of a round, as far as the exchanges show it. */
function lastTurnOf(album: Album, round: number): number {
  const of = album.pictures.flatMap(({ exchanges }) => exchanges.filter((exchange) => exchange.round <= round).map(({ turn }) => turn));
  return Math.max(0, ...of);
}

function Curves({ album, picture, round }: { album: Album; picture: AlbumPicture | null; round: number }) {
  const first = album.pictures.slice(0, CURVES);
  const drawn = picture && !first.includes(picture) ? [picture, ...first.slice(0, CURVES - 1)] : first;
  const rows = album.pictures.flatMap(({ caption, id, seen_by }) => seen_by.map((seen, at) => [id, caption, at, seen] as const));
  const labels = drawn.map(({ caption }) => (caption.length > 28 ? `${caption.slice(0, 27)}…` : caption));
  return (
    <Plot
      title="How many have seen a picture"
      name={`${album.run}-seen`}
      note={`by the end of each round, of ${album.people.length} people${album.pictures.length > drawn.length ? `; ${drawn.length} of ${album.pictures.length} pictures are drawn, the table has all` : ""}`}
      columns={["picture", "caption", "round", "seen_by"]}
      rows={rows}
      width={640}
      height={340}
    >
      {(width, height) => {
        const legend = legendPlaces(labels, width - 40).height;
        const box = { top: legend + 26, right: 16, bottom: height - 40, left: 40 };
        const x = scaleLinear([0, Math.max(1, album.rounds)], [box.left, width - box.right]);
        const y = scaleLinear([0, Math.max(1, album.people.length)], [box.bottom, box.top]);
        return (
          <>
            <Legend labels={labels} x={box.left} y={2} width={width - 40} />
            <LeftAxis scale={y} at={box.left} count={5} grid={width - box.left - box.right} label="people" isWhole />
            <BottomAxis scale={x} at={box.bottom} count={Math.min(10, album.rounds)} label="round" isWhole />
            <line class="this-round" x1={x(round)} x2={x(round)} y1={box.top} y2={box.bottom} />
            {drawn.map(({ id, seen_by }, index) => <Series key={id} index={index} points={seen_by.map((seen, at) => [x(at), y(seen)] as const)} />)}
          </>
        );
      }}
    </Plot>
  );
}

function Totals({ album }: { album: Album }) {
  const [shown, show] = useState(PEOPLE_SHOWN);
  const columns = [["asked", "asked"], ["answered", "answered"], ["words", "words"], ["pictures_shown", "pictures shown"], ["pictures_received", "pictures received"], ["partners", "partners"]] as const;
  return (
    <section class="stack">
      <h2>What everybody did</h2>
      <div class="scroller" tabIndex={0} role="region" aria-label="What everybody did">
        <table>
          <thead><tr><th scope="col">person</th>{columns.map(([name, label]) => <th key={name} scope="col" class="number">{label}</th>)}</tr></thead>
          <tbody>
            {album.agents.slice(0, shown).map((agent) => (
              <tr key={agent.agent}>
                <th scope="row" class="data"><LongText text={agent.agent} limit={80} /></th>
                {columns.map(([name]) => <td key={name} class="number">{agent[name]}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {album.agents.length > shown && <p><button onClick={() => show(shown + 200)}>Show more of {album.agents.length.toLocaleString("en")} people</button></p>}
    </section>
  );
}

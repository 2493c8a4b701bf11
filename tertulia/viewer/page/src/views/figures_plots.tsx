/** Plots over the turns of runs. */

import { scaleLinear } from "d3-scale";
import { BottomAxis, LeftAxis, Legend, legendPlaces, Plot, type PlotProps, Series, seriesStyle } from "../components/plot";

export type Point = readonly [turn: number, value: number | null];

export interface Line {
  readonly label: string;
  readonly points: readonly Point[];
}

type Given = Pick<PlotProps, "title" | "note" | "name" | "columns" | "rows"> & {
  readonly lines: readonly Line[];
  /** The highest value of the axis; null: the highest of the data. */
  readonly most: number | null;
  readonly dots?: readonly Point[];
  readonly isWhole?: boolean;
};

interface Scales {
  readonly x: (turn: number) => number;
  readonly y: (value: number) => number;
}

/** Values that change slowly, as lines; `dots` are drawn below them. */
export function Lines(props: Given) {
  return (
    <Frame {...props}>
      {({ x, y }) => (
        <>
          {props.dots && props.dots.length > 0 && <path class="dots" d={dotsPath(props.dots, { x, y })} />}
          {props.lines.map(({ points }, index) => <Series key={index} index={index} points={points.map(([turn, value]) => [x(turn), value === null ? null : y(value)] as const)} />)}
        </>
      )}
    </Frame>
  );
}

/** Values of single turns: stems of a single run, lines of several. */
export function Points(props: Given) {
  const [only, ...others] = props.lines;
  if (others.length || !only) return <Lines {...props} />;
  return (
    <Frame {...props}>
      {({ x, y }) => (
        <>
          <path class="stems" d={only.points.flatMap(([turn, value]) => (value === null ? [] : [`M${round(x(turn))} ${round(y(0))}V${round(y(value))}`])).join("")} style={{ stroke: seriesStyle(0).stroke }} />
          <path class="heads" d={dotsPath(only.points, { x, y })} style={{ stroke: seriesStyle(0).stroke }} />
        </>
      )}
    </Frame>
  );
}

const round = (value: number) => Math.round(value * 10) / 10;

/** Return dots as one path of lines without length, whose round ends are drawn. */
function dotsPath(points: readonly Point[], { x, y }: Scales): string {
  return points.flatMap(([turn, value]) => (value === null ? [] : [`M${round(x(turn))} ${round(y(value))}h0`])).join("");
}

function Frame({ lines, most, dots = [], isWhole, children, ...plot }: Given & { children: (scales: Scales) => preact.ComponentChildren }) {
  const turns = lines.flatMap(({ points }) => points.map(([turn]) => turn));
  const last = turns.reduce((highest, turn) => Math.max(highest, turn), 1);
  const first = turns.reduce((lowest, turn) => Math.min(lowest, turn), last);
  const highest = most ?? [...lines.flatMap(({ points }) => points), ...dots].reduce((value, point) => Math.max(value, point[1] ?? 0), 1);
  const labels = lines.length > 1 || dots.length ? lines.map(({ label }) => label) : [];
  return (
    <Plot {...plot} width={760} height={280}>
      {(width, height) => {
        const legend = legendPlaces(labels, width - 44).height;
        const box = { top: legend + 14, right: 12, bottom: height - 38, left: 44 };
        const x = scaleLinear([Math.min(first, last - 1), last], [box.left + 6, width - box.right]);
        const y = scaleLinear([0, highest], [box.bottom, box.top]);
        if (most === null) y.nice(5);
        return (
          <>
            <Legend labels={labels} x={box.left} y={0} width={width - 44} />
            <LeftAxis scale={y} at={box.left} count={5} grid={width - box.left - box.right} isWhole={isWhole} />
            <BottomAxis scale={x} at={box.bottom} count={Math.min(last, Math.floor(width / 60))} label="turn" isWhole />
            {children({ x, y })}
          </>
        );
      }}
    </Plot>
  );
}

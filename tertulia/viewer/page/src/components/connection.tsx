/** A line that says that the page no longer hears of changes, or that the store can't be read. */

import { useConnectionProblem } from "../server_request";

export function ConnectionLine() {
  const problem = useConnectionProblem();
  return <div role="alert">{problem !== null && <p class="notice bad data">{problem}</p>}</div>;
}

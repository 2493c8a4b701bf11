/** The minds of a meeting: of one round, and of one agent through the whole run. */

import "../styles/minds.css";

export { AgentsView as MindsView } from "./minds/agents";
export { RoundMinds } from "./minds/round";

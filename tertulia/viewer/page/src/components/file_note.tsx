/** What an exported file is: of which run, written by which version, and what of the run it leaves out. */

import { source } from "../source";

export function FileNote() {
  const { about } = source;
  if (!about) return null;
  return (
    <span class="muted file-note">
      Run <span class="code">{about.run}</span> in one file, exported by Tertulia {about.version}
      {about.omitted && <>; without {about.omitted}</>}
    </span>
  );
}

/** Light or dark: as the system has it, until the reader chooses. */

import { useLayoutEffect, useState } from "preact/hooks";
import { useMatches } from "../outside_value";

type Theme = "light" | "dark";

const KEY = "tertulia-theme";

function chosen(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null; // a page in a sandbox keeps nothing
  }
}

const system = matchMedia("(prefers-color-scheme: dark)");
const themeOf = (own: Theme | null, isDark: boolean): Theme => own ?? (isDark ? "dark" : "light");

function show(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
}

show(themeOf(chosen(), system.matches)); // before anything is drawn

export function ThemeButton() {
  const [own, setOwn] = useState(chosen);
  const theme = themeOf(own, useMatches(system));
  const next: Theme = theme === "dark" ? "light" : "dark";
  useLayoutEffect(() => show(theme), [theme]);
  const choose = () => {
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // shown all the same, for as long as the page is open
    }
    setOwn(next);
  };
  return <button onClick={choose}>{next === "dark" ? "Dark" : "Light"}</button>;
}

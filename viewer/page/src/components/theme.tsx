/** Light or dark: as the system has it, until the reader chooses. */

import { useEffect, useState } from "preact/hooks";

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

function show(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
}

const system = matchMedia("(prefers-color-scheme: dark)");
const current = (): Theme => chosen() ?? (system.matches ? "dark" : "light");
show(current());
system.addEventListener("change", () => show(current()));

export function ThemeButton() {
  const [theme, setTheme] = useState(current());
  useEffect(() => {
    const follow = () => setTheme(current());
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, []);
  const next: Theme = theme === "dark" ? "light" : "dark";
  const choose = () => {
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // shown all the same, for as long as the page is open
    }
    show(next);
    setTheme(next);
  };
  return <button onClick={choose}>{next === "dark" ? "Dark" : "Light"}</button>;
}

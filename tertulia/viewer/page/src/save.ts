/** What a plot saves: its drawing as a file that stands alone, and its figures as CSV. */

/** A value of a table. */
export type Cell = string | number | boolean | null | undefined;

/** Presentation attributes that a drawing keeps when it leaves the page's style sheet. */
const KEPT = [
  ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap"],
  ...["stroke-linejoin", "opacity", "paint-order", "font-family", "font-size", "font-weight", "font-style"],
  ...["text-anchor", "dominant-baseline", "visibility"],
];
/** Attributes that mean nothing outside of the page. */
const LEFT = ["class", "style", "tabindex", "role", "aria-label", "aria-hidden", "href"];
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
const STARTS_FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** Return a table as CSV (RFC 4180); texts that a spreadsheet would compute get an apostrophe before them. */
export function csvOf(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

function field(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const text = STARTS_FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Return a drawing as an SVG file that needs no style sheet: colours and fonts are those that are shown. */
export function svgOf(shown: SVGSVGElement, title: string): string {
  const copy = shown.cloneNode(true) as SVGSVGElement;
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  [shown, ...shown.querySelectorAll<SVGElement>("*")].forEach((element, index) => {
    const style = getComputedStyle(element);
    const target = copies[index]!;
    for (const name of LEFT) target.removeAttribute(name);
    for (const name of KEPT) if (style.getPropertyValue(name)) target.setAttribute(name, style.getPropertyValue(name));
  });
  copy.removeAttribute("fill");
  const { width, height } = shown.viewBox.baseVal;
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const create = (name: string) => document.createElementNS("http://www.w3.org/2000/svg", name);
  const [name, paper] = [create("title"), create("rect")];
  name.textContent = title;
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", getComputedStyle(document.documentElement).getPropertyValue("--surface").trim() || "#fff");
  copy.prepend(name, paper);
  return new XMLSerializer().serializeToString(copy).replace(NO_XML, "\ufffd");
}

/** Let the browser save a text as a file. */
export function saveText(name: string, text: string, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

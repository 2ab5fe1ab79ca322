/* Making elements of the page and of its drawings. */

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...[children].flat(2).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

const make = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) => filled(document.createElementNS(SVG, name), attributes, children);

/** A table that scrolls if it is too wide. `lines` hold cells: words, or {words, css, node}. */
function tableOf(caption, heads, lines, css = "") {
  const cell = (value, k) => {
    const held = value !== null && typeof value === "object" && !(value instanceof Node) ? value : { words: value };
    return make(k === 0 ? "th" : "td", { class: held.css ?? null, scope: k === 0 ? "row" : null }, held.node ?? String(held.words));
  };
  const table = make("table", { class: css || null },
    make("caption", { class: "hidden" }, caption),
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, lines.map((line) => make("tr", {}, line.map(cell)))));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
}

/** A table of records; `DATA.tables` has the key of the values under each heading. */
function recordTable(caption, name, records) {
  const keys = Object.values(DATA.tables[name]);
  return tableOf(caption, Object.keys(DATA.tables[name]), records.map((each) => keys.map((key) => cellOf(key, each[key]))), "figures");
}

function cellOf(key, value) {
  if (key === "status") return { node: chip(value) };
  if (key === "violations" && value) return { words: value, css: "bad" };
  return { words: value, css: ["reason", "example"].includes(key) ? "long" : null };
}

/** The sentence that a section shows in place of a plot or table. */
const empty = (words) => make("p", { class: "empty" }, words);

function folded(summary, ...children) {
  return make("details", {}, make("summary", {}, summary), ...children);
}

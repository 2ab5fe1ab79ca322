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
    return make(k === 0 ? "th" : "td", { class: held.css ?? null, scope: k === 0 ? "row" : null }, held.node ?? breakable(String(held.words)));
  };
  const table = make("table", { class: css || null },
    make("caption", { class: "hidden" }, caption),
    make("thead", {}, make("tr", {}, heads.map((head, k) => make("th", { scope: "col", class: isText(lines[0]?.[k]) ? "text" : null }, head)))),
    make("tbody", {}, lines.map((line) => make("tr", {}, line.map(cell)))));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
}

const isText = (cell) => Boolean(cell?.css?.startsWith("text"));

/** Words that may be broken after a colon or an equals sign, as in conic:solver=scs. */
const breakable = (words) => words.split(/(?<=[:=])/).flatMap((piece, k) => (k ? [make("wbr"), piece] : [piece]));

/** A table of records; `DATA.tables` has the key of the values under each heading. Columns without a value are left out. */
function recordTable(caption, name, records) {
  const columns = Object.entries(DATA.tables[name]).filter(([, key]) => !records.length || records.some((record) => record[key] !== NOTHING));
  const lines = records.map((record) => columns.map(([, key]) => cellOf(key, record)));
  return tableOf(caption, columns.map(([head]) => head), lines, "figures");
}

function cellOf(key, record) {
  const words = record[key];
  switch (key) {
    case "status": return { node: chip(words), css: "text" };
    case "claimed": return { words: words || (record.answered ? NOTHING : record.message), css: "text long" };
    case "leaks": return { words, css: record.violated ? "bad" : null };
    default: return { words };
  }
}

/** The sentence that a section shows in place of a plot or table. */
const empty = (words) => make("p", { class: "empty" }, words);

function folded(summary, ...children) {
  return make("details", {}, make("summary", {}, summary), ...children);
}

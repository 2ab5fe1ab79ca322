/* The sections that discreet wrote, for what the filters keep. */

/** The parts of each section for the kept family, profile and budget. */
const viewOf = () => DATA.views[DATA.choices.map((name) => (everyKept(name) ? "" : [...STATE.kept[name]][0])).join("\n")];

const partOf = (part) => (typeof part === "number" ? [written(part)] : offered(part));

/** A part as discreet wrote it, with its figures. */
function written(k) {
  const node = made(DATA.contents[k], "div", "part");
  for (const place of node.querySelectorAll("[data-figure]")) place.replaceWith(figureOf(DATA.figures[place.dataset.figure]));
  return node;
}

function offered({ name, label, offers }) {
  const [[, k], choice] = chosenOf(`show-${name}`, label, offers, ([title]) => title);
  return [choice, written(k)];
}

const isOther = (cell) => DATA.tones[cell.textContent] !== undefined && !STATE.kept.label.has(cell.textContent);

/** Hides the lines and columns of tables that name a backend which is not kept, and tables without a line. */
function hideOthers() {
  for (const table of document.querySelectorAll(".part table")) {
    const columns = [...table.tHead.rows[0].cells].map(isOther);
    for (const row of table.rows) [...row.cells].forEach((cell, k) => { cell.hidden = columns[k]; });
    const lines = [...table.tBodies[0].rows];
    for (const line of lines) line.hidden = [...line.cells].some(isOther);
    table.closest(".scroll").hidden = lines.every((line) => line.hidden);
  }
}

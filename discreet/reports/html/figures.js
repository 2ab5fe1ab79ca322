/* Figures that discreet drew: a legend that hides and shows series, and the attempt behind a mark, shown at the pointer or, with
   the arrow keys, at the focus. */

const REACH = 18; // units of the drawing around the pointer in which a mark is found

const legendTitle = "hide or show in the plots; the numbers stay";

/** A figure with its legend. */
function figureOf(figure) {
  const stage = made(figure.lines.map((k) => LINES[k]).join("\n"), "div", "stage");
  explain(stage.querySelector("svg"));
  return make("figure", {},
    make("figcaption", {}, make("strong", {}, figure.title), make("span", {}, figure.note)),
    make("div", { class: "legend", role: "group", "aria-label": "Names in this plot" }, figure.keys.filter(([name]) => isKept(name)).map(keyOf)),
    stage);
}

/** An element that holds what discreet wrote. */
function made(html, name, css) {
  const node = make(name, { class: css });
  node.innerHTML = html;
  return node;
}

const keyOf = ([name, label, tone]) => make("button", {
  type: "button", class: "key", "aria-pressed": String(!STATE.hidden.has(name)), "data-key": name, title: legendTitle,
  onclick: () => toggleHidden(name),
}, tone === null ? null : sampleOf(tone), make("span", {}, label));

const sampleOf = (tone) => made(DATA.samples[tone], "i", "sample");

function toggleHidden(name) {
  if (!STATE.hidden.delete(name)) STATE.hidden.add(name);
  writeAddress();
  for (const key of document.querySelectorAll("button.key")) {
    key.setAttribute("aria-pressed", String(!STATE.hidden.has(key.dataset.key)));
  }
  showMarks();
}

/** Only backends can be left out by the filters. */
const isKept = (name) => STATE.kept.label.has(name) || !CHOICES.label.includes(name);

/** Shows the marks and lines that the filters and legends leave, and hides the others. */
function showMarks() {
  TIP.hidden = true;
  for (const part of document.querySelectorAll(".stage [data-row], .stage [data-of]")) {
    const row = ROWS[part.dataset.row];
    const name = nameOf(part);
    part.toggleAttribute("hidden", STATE.hidden.has(name) || !(row ? isKeptRow(row) : isKept(name)));
  }
}

const nameOf = (part) => ROWS[part.dataset.row]?.label ?? part.dataset.of;

// -- what is behind a mark -----------------------------------------------------------------------------------------------

const TIP = document.getElementById("tip");
let place = () => {}; // puts it beside its mark, again whenever the page scrolls

/** Every mark that is shown: its place in the drawing, its words, its name. A line in steps has a place for each step. */
function marksOf(svg) {
  return [...svg.querySelectorAll("[data-row], [data-hint]")].filter((part) => !part.hasAttribute("hidden")).flatMap((part) => {
    const name = nameOf(part);
    if (part.classList.contains("line")) {
      return part.dataset.hint.split("|").map((step) => {
        const [x, y, ...words] = step.split(" ");
        return { x: Number(x), y: Number(y), name, lines: [name, words.join(" ")] };
      });
    }
    const box = part.getBBox();
    const lines = part.dataset.row ? rowWords(ROWS[part.dataset.row]) : part.dataset.hint.split("\n");
    return [{ x: box.x + box.width / 2, y: box.y + box.height / 2, name, lines }];
  });
}

function explain(svg) {
  const ring = draw("circle", { class: "ring", r: 6, visibility: "hidden" });
  svg.append(ring);
  let marks = [];
  let at = -1;
  const show = (k) => {
    at = k;
    ring.setAttribute("visibility", "visible");
    ring.setAttribute("cx", marks[k].x);
    ring.setAttribute("cy", marks[k].y);
    TIP.replaceChildren(...marks[k].lines.map((line, j) => make(j === 0 ? "strong" : "span", {}, line)));
    TIP.hidden = false;
    place = () => placeTip(svg, marks[k]);
    place();
  };
  const hide = () => {
    ring.setAttribute("visibility", "hidden");
    TIP.hidden = true;
    place = () => {};
  };
  const look = () => { marks = marksOf(svg); };
  const nearest = (event) => {
    const { x: px, y: py } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const apart = marks.map((mark) => Math.hypot(mark.x - px, mark.y - py));
    const least = Math.min(...apart);
    if (least <= REACH) show(apart.indexOf(least));
    else hide();
  };
  svg.addEventListener("pointerenter", look);
  svg.addEventListener("pointermove", nearest);
  svg.addEventListener("pointerdown", nearest);
  svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    look();
    const to = marks.length ? targetOf(event.key, Math.min(at, marks.length - 1), marks) : null;
    if (event.key === "Escape") hide();
    if (to === null) return;
    event.preventDefault();
    show(to);
  });
}

/** Left and right go along the marks, up and down to those of the next name. */
function targetOf(key, at, marks) {
  const n = marks.length;
  const jump = (way) => {
    for (let k = 1; k <= n; k += 1) {
      const to = (at + way * k + n * (k + 1)) % n;
      if (at < 0 || marks[to].name !== marks[at].name) return to;
    }
    return at;
  };
  switch (key) {
    case "ArrowRight": return Math.min(at + 1, n - 1);
    case "ArrowLeft": return Math.max(at - 1, 0);
    case "ArrowDown": return jump(1);
    case "ArrowUp": return jump(-1);
    case "Home": return 0;
    case "End": return n - 1;
    default: return null;
  }
}

function placeTip(svg, mark) {
  const { x, y } = new DOMPoint(mark.x, mark.y).matrixTransform(svg.getScreenCTM());
  const wide = document.documentElement.clientWidth;
  const box = TIP.getBoundingClientRect();
  TIP.style.left = `${Math.max(6, Math.min(x + 14, wide - box.width - 6))}px`;
  TIP.style.top = `${y - box.height - 14 < 6 ? y + 16 : y - box.height - 14}px`;
}

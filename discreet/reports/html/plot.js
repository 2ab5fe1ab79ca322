/* Plots: a frame, series told apart by tone, dash and mark (never by colour alone), a legend that hides and shows, and the
   measured row behind every mark at the pointer or, by the arrow keys, at the focus. */

const COLOURS = Math.sqrt(DATA.looks.length); // as in discreet.reports.figures, which says the dash and the mark of every tone
const REACH = 26; // pixels around the pointer in which a mark is found

const redraws = [];

const toneOf = (name) => TONES[name] ?? 0;
const toneClass = (name) => `tone t${toneOf(name) % COLOURS}`;
const dashOf = (name) => DATA.looks[toneOf(name) % DATA.looks.length][0] || null;
const cornersOf = (name) => DATA.looks[toneOf(name) % DATA.looks.length][1];
const near = (value) => Math.round(value * 10) / 10;

function markAt(name, x, y, r, css = "") {
  const corners = cornersOf(name).map(([right, down]) => `${near(x + r * right)} ${near(y + r * down)}`);
  const d = corners.length ? `M${corners.join("L")}z` : `M${near(x - r)} ${near(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  return draw("path", { class: `mark ${toneClass(name)} ${css}`, d });
}

/** The sample of a backend: its line and its mark, as in every plot. */
function sampleOf(name) {
  return draw("svg", { class: "sample", viewBox: "0 0 30 12", width: 30, height: 12, "aria-hidden": "true" },
    draw("path", { class: `line ${toneClass(name)}`, d: "M1 6H29", "stroke-dasharray": dashOf(name) }),
    markAt(name, 15, 6, 3.6));
}

function legendOf(names, notes = {}) {
  const entry = (name) => make("button", {
    type: "button", class: "key", "aria-pressed": String(!STATE.hidden.has(name)), "data-key": name,
    title: "hide it in the plots, or show it again; the numbers stay",
    onclick: () => toggleHidden(name),
  }, sampleOf(name), make("span", {}, name, notes[name] ? make("em", {}, " ", notes[name]) : null));
  return make("div", { class: "legend", role: "group", "aria-label": "Backends in this plot" }, names.map(entry));
}

function toggleHidden(name) {
  if (!STATE.hidden.delete(name)) STATE.hidden.add(name);
  writeAddress();
  for (const key of document.querySelectorAll("button.key")) {
    key.setAttribute("aria-pressed", String(!STATE.hidden.has(key.dataset.key)));
  }
  redraws.forEach((redraw) => redraw());
}

/** A figure that draws itself anew when its width or the hidden backends change. `paint(width)` gives {svg, marks}. */
function figureOf(title, paint, { names = [], notes = {}, note = null, bare = false } = {}) {
  const stage = make("div", { class: "stage" });
  const figure = make("figure", {},
    make("figcaption", {}, make("strong", { class: bare ? "hidden" : null }, title), note ? make("span", {}, note) : null),
    names.length ? legendOf(names, notes) : null, stage);
  const redraw = () => {
    const { svg, marks } = paint(Math.max(300, Math.min(stage.clientWidth || 720, 1040)));
    stage.replaceChildren(svg);
    explain(svg, marks);
  };
  redraws.push(redraw);
  return figure;
}

/** A plot of series on two scales: {title, x, y, series, names, notes, about, bands}; see the sections for its use. */
function plotOf(spec) {
  return figureOf(spec.title, (width) => paintPlot(spec, width), { names: spec.names, notes: spec.notes, note: spec.note, bare: spec.bare });
}

function paintPlot(spec, width) {
  const area = { left: 62, right: width - 16, top: 12, bottom: Math.round(Math.max(230, Math.min(380, 0.5 * width))) };
  const x = (value) => area.left + spec.x.scale.share(value) * (area.right - area.left);
  const y = (value) => area.bottom - spec.y.scale.share(value) * (area.bottom - area.top);
  const svg = canvasOf(width, area.bottom + 46, `${spec.title}. ${spec.about}`);
  svg.append(...frame(spec, area, x, y));
  const marks = [];
  for (const series of spec.series.filter(({ name }) => !STATE.hidden.has(name))) {
    svg.append(...pathsOf(series, x, y));
    for (const point of series.points) {
      const place = { x: x(point.x), y: y(point.y), lines: point.lines, series: series.name };
      if (series.kind !== "steps") svg.append(markAt(series.name, place.x, place.y, series.kind === "points" ? 3.2 : 4, point.css ?? ""));
      marks.push(place);
    }
  }
  return { svg, marks };
}

function canvasOf(width, height, about) {
  return draw("svg", {
    class: "plot", viewBox: `0 0 ${width} ${height}`, role: "group", tabindex: "0",
    "aria-roledescription": "plot", "aria-label": `${about} Arrow keys go from mark to mark; the table below holds the same.`,
  });
}

function frame(spec, area, x, y) {
  const parts = [];
  for (const { at, words } of spec.y.scale.ticks(8)) {
    parts.push(draw("path", { class: "grid", d: `M${area.left} ${near(y(at))}H${area.right}` }));
    parts.push(draw("text", { class: "tick", x: area.left - 7, y: near(y(at) + 4), "text-anchor": "end" }, words));
  }
  for (const { at, words } of spec.x.scale.ticks(Math.floor((area.right - area.left) / 58))) {
    parts.push(draw("path", { class: "grid", d: `M${near(x(at))} ${area.top}V${area.bottom + 4}` }));
    parts.push(draw("text", { class: "tick", x: near(x(at)), y: area.bottom + 18, "text-anchor": "middle" }, words));
  }
  const middle = near((area.top + area.bottom) / 2);
  parts.push(draw("path", { class: "axis", d: `M${area.left} ${area.top}V${area.bottom}H${area.right}` }));
  parts.push(draw("text", { class: "soft", x: near((area.left + area.right) / 2), y: area.bottom + 38, "text-anchor": "middle" }, spec.x.label));
  parts.push(draw("text", { class: "soft", x: 13, y: middle, transform: `rotate(-90 13 ${middle})`, "text-anchor": "middle" }, spec.y.label));
  return parts;
}

function pathsOf(series, x, y) {
  if (series.kind === "points" || !series.points.length) return [];
  const places = (series.path ?? series.points).map((point) => [near(x(point.x)), near(y(point.y))]);
  const [first, ...rest] = places;
  const steps = series.kind === "steps";
  const way = rest.map(([px, py]) => (steps ? `H${px}V${py}` : `L${px} ${py}`)).join("");
  const line = draw("path", { class: `line ${toneClass(series.name)}`, d: `M${first[0]} ${first[1]}${way}`, "stroke-dasharray": dashOf(series.name) });
  if (!series.fit) return [line];
  const [[ax, ay], [bx, by]] = series.fit.map((point) => [near(x(point.x)), near(y(point.y))]);
  return [draw("path", { class: `fit ${toneClass(series.name)}`, d: `M${ax} ${ay}L${bx} ${by}` }), line];
}

// -- the row behind a mark -----------------------------------------------------------------------------------------------

const TIP = document.getElementById("tip");
let place = () => {}; // puts it beside its mark, again whenever the page scrolls

function explain(svg, marks) {
  const ring = draw("circle", { class: "ring", r: 8, visibility: "hidden" });
  svg.append(ring);
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
  const nearest = (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const [px, py] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const apart = marks.map((mark) => Math.hypot(mark.x - px, mark.y - py));
    const least = Math.min(...apart);
    if (least <= REACH) show(apart.indexOf(least));
    else hide();
  };
  svg.addEventListener("pointermove", nearest);
  svg.addEventListener("pointerdown", nearest);
  svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const to = marks.length ? targetOf(event.key, at, marks) : null;
    if (event.key === "Escape") hide();
    if (to === null) return;
    event.preventDefault();
    show(to);
  });
}

/** Left and right go along the marks, up and down to the next series. */
function targetOf(key, at, marks) {
  const n = marks.length;
  const jump = (way) => {
    for (let k = 1; k <= n; k += 1) {
      const to = (at + way * k + n * (k + 1)) % n;
      if (at < 0 || marks[to].series !== marks[at].series) return to;
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
  const inside = svg.getBoundingClientRect();
  const scale = inside.width / svg.viewBox.baseVal.width;
  const [x, y] = [inside.left + mark.x * scale, inside.top + mark.y * scale];
  const wide = document.documentElement.clientWidth;
  const box = TIP.getBoundingClientRect();
  TIP.style.left = `${Math.max(6, Math.min(x + 14, wide - box.width - 6))}px`;
  TIP.style.top = `${y - box.height - 14 < 6 ? y + 16 : y - box.height - 14}px`;
}

// One kind of picture: a plane with axes, linear or logarithmic, and series of points, lines, steps or intervals.
// Pointing at a mark, or walking the marks with the arrow keys, says in words what it is; a table holds the same numbers.
"use strict";
const Chart = (() => {
  const NS = "http://www.w3.org/2000/svg";
  const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2", "1 2"];
  const MARKS = ["circle", "diamond", "square", "triangle", "cross"];
  const node = (name, attributes = {}, text = null) => {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    return made;
  };
  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const power = (exponent) =>
    exponent === 0 ? "1" : exponent === 1 ? "10" : `10${[...String(exponent)].map((digit) => SUPERSCRIPT[digit]).join("")}`;
  const number = (value, digits = 3) => {
    if (Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(digits - 1).replace("e+", "e").replace("-", "−");
    return Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
  };
  const markOf = (tone) => MARKS[(tone + Math.floor(tone / 6)) % MARKS.length];
  const dashOf = (tone) => DASHES[(tone + Math.floor(tone / 6)) % DASHES.length];

  function mark(shape, x, y, size, attributes) {
    const s = size;
    if (shape === "circle") return node("circle", { cx: x, cy: y, r: s, ...attributes });
    const paths = {
      diamond: `M${x},${y - s * 1.3}L${x + s * 1.3},${y}L${x},${y + s * 1.3}L${x - s * 1.3},${y}Z`,
      square: `M${x - s},${y - s}H${x + s}V${y + s}H${x - s}Z`,
      triangle: `M${x},${y - s * 1.25}L${x + s * 1.2},${y + s}L${x - s * 1.2},${y + s}Z`,
      cross: `M${x - s},${y - s}L${x + s},${y + s}M${x - s},${y + s}L${x + s},${y - s}`,
    };
    return node("path", { d: paths[shape], ...attributes });
  }

  // -- axes -----------------------------------------------------------------------------------------------------------
  function axis(values, log, from, to, most, given) {
    const usable = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
    let [low, high] = given || [Math.min(...usable), Math.max(...usable)];
    if (!usable.length && !given) [low, high] = [1, 10];
    const scale = log ? Math.log10 : (value) => value;
    if (!given) {
      if (log) [low, high] = [10 ** Math.floor(Math.log10(low) + 1e-9), 10 ** Math.ceil(Math.log10(high) - 1e-9)];
      else low = Math.min(0, low);
      if (low === high) high = log ? low * 10 : low + 1;
    }
    const place = (value) => from + ((scale(value) - scale(low)) / (scale(high) - scale(low))) * (to - from);
    return { place, low, high, ticks: log ? decades(low, high, most) : steps(low, high, most) };
  }
  function decades(low, high, most) {
    const first = Math.round(Math.log10(low)), last = Math.round(Math.log10(high));
    const stride = Math.max(1, Math.ceil((last - first) / most));
    const found = [];
    for (let k = first; k <= last; k += stride) found.push([10 ** k, power(k)]);
    return found;
  }
  function steps(low, high, most) {
    const raw = (high - low) / most, unit = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * unit).find((each) => each >= raw * (1 - 1e-9));
    const found = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-6; value += step) {
      found.push([value, number(value, 3)]);
    }
    return found;
  }

  // -- drawing --------------------------------------------------------------------------------------------------------
  // spec: {id, title, text, x, y, logX, logY, rangeX, rangeY, categories, level, zone, series, heads}
  // series: {label, tone, kind: points | both | steps | bars, points: [{x, y, low, high, hint, bad}], fit: [[x, y], …]}
  function draw(host, spec, hidden) {
    host.replaceChildren();
    const series = spec.series.filter((each) => each.points.length);
    if (!series.length) {
      host.append(element("p", { class: "nothing" }, spec.nothing));
      return;
    }
    const width = Math.max(320, Math.min(900, host.clientWidth || 720));
    const narrow = width < 560;
    const rows = spec.categories ? spec.categories.length : 0;
    const left = spec.categories ? (narrow ? 104 : 158) : 58;
    const box = { left, right: width - 16, top: 14, bottom: (rows ? 14 + rows * 28 : narrow ? 260 : 340) };
    const height = box.bottom + 46;
    const shown = series.filter((each) => !hidden.has(each.label));
    const points = shown.flatMap((each) => each.points);
    const ends = points.flatMap((point) => [point.x, point.low, point.high]).filter((value) => value !== undefined);
    const x = axis(spec.categories ? ends : points.map((point) => point.x), spec.logX, box.left, box.right, narrow ? 4 : 8, spec.rangeX);
    const y = spec.categories
      ? { place: (value) => box.top + 14 + value * 28, ticks: spec.categories.map((words, k) => [k, words]) }
      : axis(points.map((point) => point.y), spec.logY, box.bottom, box.top, 6, spec.rangeY);
    const svg = node("svg", {
      viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "group", class: "plane",
      "aria-label": `${spec.title}. ${spec.text} Use the arrow keys to walk the marks; the table below holds the same numbers.`,
    });
    if (spec.zone !== undefined) {
      const start = Math.max(box.left, Math.min(box.right, x.place(spec.zone)));
      svg.append(node("rect", { x: start, y: box.top, width: box.right - start, height: box.bottom - box.top, class: "zone" }));
    }
    for (const [value, words] of x.ticks) {
      const at = x.place(value);
      svg.append(node("line", { x1: at, x2: at, y1: box.top, y2: box.bottom, class: "grid" }));
      svg.append(node("text", { x: at, y: box.bottom + 18, class: "tick", "text-anchor": "middle" }, words));
    }
    for (const [value, words] of y.ticks) {
      const at = y.place(value);
      svg.append(node("line", { x1: box.left, x2: box.right, y1: at, y2: at, class: "grid" }));
      svg.append(node("text", { x: box.left - 8, y: at + 4, class: "tick", "text-anchor": "end" }, shortened(words, narrow)));
    }
    if (spec.level !== undefined) {
      const at = x.place(spec.level);
      svg.append(node("line", { x1: at, x2: at, y1: box.top, y2: box.bottom, class: "level" }));
    }
    svg.append(node("text", { x: (box.left + box.right) / 2, y: box.bottom + 38, class: "axis", "text-anchor": "middle" }, spec.x));
    const walk = [];
    for (const each of shown) drawSeries(svg, each, x, y, box, walk);
    if (!spec.categories) svg.append(node("text", { x: box.left, y: box.top - 3, class: "axis" }, ""));
    host.append(...(spec.y ? [element("p", { class: "y-label" }, spec.y)] : []), svg, legend(series, hidden, () => draw(host, spec, hidden), spec));
    const tip = element("div", { class: "tip", role: "status", "aria-live": "polite", hidden: "" });
    host.append(tip, table(spec, series));
    pointing(host, svg, walk, tip, width);
  }
  const shortened = (words, narrow) => (narrow && words.length > 14 ? `${words.slice(0, 13)}…` : words);

  function drawSeries(svg, series, x, y, box, walk) {
    const colour = { class: `t${series.tone % 6}` };
    const at = (point) => [clamp(x.place(point.x), box.left, box.right), clamp(y.place(point.y), box.top, box.bottom)];
    const places = series.points.map(at);
    const group = node("g", colour);
    if (series.kind === "both" || series.kind === "steps") {
      const joined = series.kind === "both"
        ? places.map(([u, v], k) => `${k ? "L" : "M"}${u.toFixed(1)},${v.toFixed(1)}`).join("")
        : `${places.map(([u, v], k) => (k ? `H${u.toFixed(1)}V${v.toFixed(1)}` : `M${u.toFixed(1)},${v.toFixed(1)}`)).join("")}H${box.right}`;
      group.append(node("path", { d: joined, class: "line", "stroke-dasharray": dashOf(series.tone) }));
    }
    if (series.fit) {
      const ends = series.fit.map(([u, v]) => `${x.place(u).toFixed(1)},${clamp(y.place(v), box.top, box.bottom).toFixed(1)}`);
      group.append(node("path", { d: `M${ends.join("L")}`, class: "fit" }));
    }
    series.points.forEach((point, k) => {
      const [u, v] = places[k];
      if (point.low !== undefined) {
        const ends = [point.low, point.high].map((value) => clamp(x.place(value), box.left, box.right));
        group.append(node("path", { d: `M${ends[0]},${v}H${ends[1]}M${ends[0]},${v - 4}V${v + 4}M${ends[1]},${v - 4}V${v + 4}`, class: "line" }));
      }
      if (series.kind === "steps") {
        walk.push({ u, v, hint: point.hint });
        return;
      }
      const drawn = mark(markOf(series.tone), u, v + (point.shift || 0), 3.6, { class: point.bad ? "mark bad" : "mark" });
      group.append(drawn);
      walk.push({ u, v: v + (point.shift || 0), hint: point.hint });
    });
    svg.append(group);
  }
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

  function legend(series, hidden, redraw, spec) {
    const list = element("ul", { class: "legend", "aria-label": "Series; press to hide or show" });
    if (spec.categories) return list;
    for (const each of series) {
      const key = node("svg", { width: 34, height: 14, "aria-hidden": "true", class: `t${each.tone % 6}` });
      if (each.kind !== "points") key.append(node("path", { d: "M1,7H33", class: "line", "stroke-dasharray": dashOf(each.tone) }));
      if (each.kind !== "steps") key.append(mark(markOf(each.tone), 17, 7, 3.6, { class: "mark" }));
      const button = element("button", { type: "button", "aria-pressed": String(!hidden.has(each.label)) }, key, each.words || each.label);
      button.addEventListener("click", () => {
        if (hidden.has(each.label)) hidden.delete(each.label);
        else hidden.add(each.label);
        const place = [...list.querySelectorAll("button")].indexOf(button), host = list.parentElement;
        redraw();
        const again = host.querySelectorAll(".legend button")[place];
        if (again) again.focus();
      });
      list.append(element("li", {}, button));
    }
    return list;
  }

  function table(spec, series) {
    const body = element("tbody");
    for (const each of series) {
      for (const point of each.points) {
        const cells = (point.cells || [number(point.x), number(point.y)]).map((words) => element("td", {}, words));
        body.append(element("tr", {}, element("th", { scope: "row" }, each.label), ...cells));
      }
    }
    const heads = element("tr", {}, ...["backend", ...(spec.heads || [spec.x, spec.y])].map((words) => element("th", { scope: "col" }, words)));
    const region = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${spec.title}: numbers` },
      element("table", {}, element("thead", {}, heads), body));
    return element("details", {}, element("summary", {}, `The ${body.children.length} numbers of this picture`), region);
  }

  function pointing(host, svg, walk, tip, width) {
    walk.sort((a, b) => a.u - b.u || a.v - b.v);
    let current = -1;
    const ring = node("circle", { r: 8, class: "ring", visibility: "hidden" });
    svg.append(ring);
    const show = (place) => {
      current = place;
      const { u, v, hint } = walk[place];
      ring.setAttribute("cx", u);
      ring.setAttribute("cy", v);
      ring.setAttribute("visibility", "visible");
      tip.hidden = false;
      tip.textContent = hint;
      const scale = svg.clientWidth / width || 1;
      tip.style.left = `${clamp(u * scale + svg.offsetLeft - tip.offsetWidth / 2, 0, Math.max(0, host.clientWidth - tip.offsetWidth))}px`;
      tip.style.top = `${v * scale + svg.offsetTop + 14}px`;
    };
    const hide = () => {
      tip.hidden = true;
      ring.setAttribute("visibility", "hidden");
    };
    svg.addEventListener("pointermove", (event) => {
      const frame = svg.getBoundingClientRect(), scale = width / frame.width;
      const u = (event.clientX - frame.left) * scale, v = (event.clientY - frame.top) * scale;
      let best = -1, reach = 24 ** 2;
      walk.forEach((each, k) => {
        const far = (each.u - u) ** 2 + (each.v - v) ** 2;
        if (far < reach) [best, reach] = [k, far];
      });
      if (best < 0) hide();
      else if (best !== current || tip.hidden) show(best);
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      const jump = { Home: 0, End: walk.length - 1 }[event.key];
      if (event.key === "Escape") hide();
      if (move === undefined && jump === undefined) return;
      event.preventDefault();
      show(jump !== undefined ? jump : (current + move + walk.length) % walk.length);
    });
  }

  return { draw, element, node, number, mark, markOf };
})();

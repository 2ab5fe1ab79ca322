/* The filters: a group of boxes each, acting on every section, and the line that says how much is shown. */

function filterForm() {
  const form = document.getElementById("filters");
  form.replaceChildren(...FILTERS.filter(({ name }) => CHOICES[name].length > 1).map(filterGroup));
  form.addEventListener("submit", (event) => event.preventDefault());
}

function filterGroup({ name, title, words }) {
  const box = (value) => make("label", {},
    make("input", { type: "checkbox", name, value, checked: STATE.kept[name].has(value), onchange: () => keep(name) }),
    name === "label" ? sampleOf(value) : null, make("span", {}, words(value)));
  const all = (on) => () => {
    boxesOf(name).forEach((each) => { each.checked = on; });
    keep(name);
  };
  return make("fieldset", {}, make("legend", {}, title),
    make("div", { class: "boxes" }, CHOICES[name].map(box)),
    make("div", { class: "both" }, make("button", { type: "button", onclick: all(true), "aria-label": `${title}: all` }, "all"),
      make("button", { type: "button", onclick: all(false), "aria-label": `${title}: none` }, "none")));
}

const boxesOf = (name) => [...document.querySelectorAll(`#filters input[name="${name}"]`)];

function keep(name) {
  STATE.kept[name] = new Set(boxesOf(name).filter((each) => each.checked).map((each) => each.value));
  changed();
}

function showEverything() {
  FILTERS.forEach(({ name }) => { STATE.kept[name] = new Set(CHOICES[name]); });
  STATE.hidden.clear();
  tickBoxes();
  changed();
}

function tickBoxes() {
  FILTERS.forEach(({ name }) => boxesOf(name).forEach((each) => { each.checked = STATE.kept[name].has(each.value); }));
}

function choose(name, value) {
  STATE.chosen[name] = value;
  changed();
  document.getElementById(name)?.focus();
}

function shownLine(rows) {
  document.getElementById("shown").textContent = `${whole(rows.length)} of ${plural(ROWS.length, "attempt")}`;
  document.getElementById("reset").disabled = !filtered() && !STATE.hidden.size;
}

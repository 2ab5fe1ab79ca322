/* The filters, acting on every section: buttons to keep one or all of a group, boxes for the backends; and the line that says
   how much is shown. */

function filterForm() {
  const form = document.getElementById("filters");
  form.replaceChildren(...FILTERS.filter(({ name }) => CHOICES[name].length > 1).map(filterGroup));
  form.addEventListener("submit", (event) => event.preventDefault());
}

function filterGroup({ name, title, words }) {
  const one = DATA.choices.includes(name);
  const box = (value) => make("label", {},
    make("input", { type: one ? "radio" : "checkbox", name, value, checked: ticked(name, value), onchange: () => keep(name) }),
    one ? null : sampleOf(placeOf(value)), make("span", {}, value === "" ? "all" : words(value)));
  const all = (on) => () => {
    boxesOf(name).forEach((each) => { each.checked = on; });
    keep(name);
  };
  return make("fieldset", {}, make("legend", {}, title),
    make("div", { class: "boxes" }, [...(one ? [""] : []), ...CHOICES[name]].map(box)),
    one ? null : make("div", { class: "both" }, make("button", { type: "button", onclick: all(true), "aria-label": `${title}: all` }, "all"),
      make("button", { type: "button", onclick: all(false), "aria-label": `${title}: none` }, "none")));
}

const boxesOf = (name) => [...document.querySelectorAll(`#filters input[name="${name}"]`)];

/** Whether a box is ticked; "" is the button that keeps all. */
function ticked(name, value) {
  if (value === "") return everyKept(name);
  return STATE.kept[name].has(value) && !(DATA.choices.includes(name) && everyKept(name));
}

function keep(name) {
  const kept = boxesOf(name).filter((each) => each.checked).map((each) => each.value);
  STATE.kept[name] = new Set(kept.includes("") ? CHOICES[name] : kept);
  changed();
}

function showEverything() {
  FILTERS.forEach(({ name }) => { STATE.kept[name] = new Set(CHOICES[name]); });
  STATE.hidden.clear();
  tickBoxes();
  changed();
}

function tickBoxes() {
  FILTERS.forEach(({ name }) => boxesOf(name).forEach((each) => { each.checked = ticked(name, each.value); }));
}

function choose(name, value) {
  STATE.chosen[name] = value;
  changed();
  document.getElementById(name)?.focus();
}

/** One of several, and the choice between them; the first unless the address says otherwise. */
function chosenOf(name, label, options, words) {
  const chosen = options.find((each) => words(each) === STATE.chosen[name]) ?? options[0];
  const choice = make("select", { id: name, onchange: (event) => choose(name, event.target.value) },
    options.map((each) => make("option", { selected: each === chosen }, words(each))));
  return [chosen, make("p", { class: "choice" }, make("label", { for: name }, `${label} `), choice)];
}

function shownLine(rows) {
  document.getElementById("shown").textContent = `${rows.length} of ${plural(ROWS.length, "attempt")}`;
  document.getElementById("reset").disabled = FILTERS.every(({ name }) => everyKept(name)) && !STATE.hidden.size;
}

/* What is shown: the filters, backends hidden in plots, the sweeps chosen, the theme. All of it stands in the address after
   the #, so that an address is a view. A filter that keeps everything is left out of the address. Of families, profiles and
   budgets one is kept or all, since these choose the statistics; of backends any, since they choose the lines shown. */

const FILTERS = [
  { name: "family", title: "Family", words: (value) => value },
  { name: "label", title: "Backend", words: (value) => value },
  { name: "profile", title: "Accuracy profile", words: (value) => profileWords(value) },
  { name: "regime", title: "Budget", words: (value) => budgetWords[value] },
];
const CHOICES = Object.fromEntries(FILTERS.map(({ name }) => [name, unique(ROWS.map((row) => row[name]))]));
CHOICES.label.sort((a, b) => placeOf(a) - placeOf(b));

const NAMES = new Set(DATA.figures.flatMap(({ keys }) => keys.map(([name]) => name))); // of all legends

const STATE = { kept: {}, hidden: new Set(), chosen: {}, theme: "" };

function profileWords(value) {
  const gaps = unique(ROWS.filter((row) => row.profile === value).map((row) => row.gap_target));
  return `${value} (gap ${gaps.join(", ")})`;
}

/** Fills STATE from the address; what is not known there is passed over. */
function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  for (const { name } of FILTERS) {
    const named = words.getAll(name).filter((value) => value === "" || CHOICES[name].includes(value));
    const passed = DATA.choices.includes(name) ? named.length !== 1 || named[0] === "" : !named.length;
    STATE.kept[name] = new Set(passed ? CHOICES[name] : named.filter((value) => value !== ""));
  }
  STATE.hidden = new Set(words.getAll("hide").filter((value) => NAMES.has(value)));
  STATE.chosen = Object.fromEntries([...words].filter(([name]) => name.startsWith("show-")));
  STATE.theme = ["light", "dark"].includes(words.get("theme")) ? words.get("theme") : "";
}

function writeAddress() {
  const words = new URLSearchParams();
  for (const { name } of FILTERS) {
    const kept = CHOICES[name].filter((value) => STATE.kept[name].has(value));
    if (!everyKept(name)) (kept.length ? kept : [""]).forEach((value) => words.append(name, value));
  }
  [...STATE.hidden].sort(before).forEach((value) => words.append("hide", value));
  Object.entries(STATE.chosen).forEach(([name, value]) => words.append(name, value));
  if (STATE.theme) words.append("theme", STATE.theme);
  const hash = words.toString();
  if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}

const isKeptRow = (row) => FILTERS.every(({ name }) => STATE.kept[name].has(row[name]));
const everyKept = (name) => STATE.kept[name].size === CHOICES[name].length;

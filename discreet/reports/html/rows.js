/* The data of the page, unpacked: one object a measured row, undefined numbers as the infinities that they stand for; and the
   statistics of what the filters keep. None is computed here: discreet.reports.statistics did, for every choice there is. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const TONES = DATA.tones;
const NOT_TRIED = new Set(DATA.not_tried);

const before = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const unique = (values) => [...new Set(values)].sort(before);
const count = (values, test) => values.reduce((sum, value) => sum + (test(value) ? 1 : 0), 0);

function ordered(list, ...keys) {
  return [...list].sort((a, b) => keys.reduce((so, key) => so || before(key(a), key(b)), 0));
}

function grouped(list, key) {
  const found = new Map();
  for (const each of list) {
    const name = key(each);
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(each);
  }
  return found;
}

const recordsOf = ({ length, columns }) => Array.from({ length }, (_, k) => {
  const record = {};
  for (const [name, { values, at }] of Object.entries(columns)) record[name] = values[at[k]] ?? Infinity;
  return record;
});

const ROWS = recordsOf(DATA.rows);

/** The statistics of the kept family, profile and budget, without the lines of backends that are not kept. A certificate that
    is wrong is told of in any case. */
function numbersOf() {
  const kept = DATA.choices.map((name) => (everyKept(name) ? "" : [...STATE.kept[name]][0]));
  const numbers = DATA.views[kept.join("\n")];
  return { ...withoutOthers(numbers), agreement: numbers.agreement };
}

function withoutOthers(value) {
  if (Array.isArray(value)) return value.filter(ofKept).map(withoutOthers);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutOthers(each)]));
}

const NAMED = ["contestant", "first", "second", "faster", "slower"];
const ofKept = (each) => NAMED.every((name) => !(name in Object(each)) || STATE.kept.label.has(each[name]));

/* The data of the page, unpacked: one object for each attempt, and the statistics and figures of what the filters keep.
   discreet wrote the numbers as words; only counts are numbers. Nothing is computed or drawn here. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const LINES = document.getElementById("lines").textContent.split("\n");
const NOT_TRIED = new Set(DATA.not_tried);
const NOTHING = DATA.nothing;

const before = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const unique = (values) => [...new Set(values)].sort(before);
const count = (values, test) => values.reduce((sum, value) => sum + (test(value) ? 1 : 0), 0);
const plural = (n, one) => `${n} ${n === 1 ? one : `${one}s`}`;

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

const recordsOf = ({ length, columns }) => Array.from({ length }, (_, k) =>
  Object.fromEntries(Object.entries(columns).map(([name, { values, at }]) => [name, values[at[k]]])));

const ROWS = recordsOf(DATA.rows);
const placeOf = (name) => DATA.tones[name];

/** The statistics of the kept family, profile and budget, without the lines of backends that are not kept. A wrong
    certificate is always reported. */
function numbersOf() {
  const kept = DATA.choices.map((name) => (everyKept(name) ? "" : [...STATE.kept[name]][0]));
  const numbers = allNumbers(kept);
  return { ...withoutOthers(numbers), agreement: numbers.agreement };
}

function allNumbers(kept) {
  const numbers = Object.fromEntries(Object.entries(DATA.views[kept.join("\n")]).map(([name, k]) => [name, DATA.contents[k]]));
  return { ...numbers, sweeps: numbers.sweeps.map((k) => DATA.contents[k]) };
}

function withoutOthers(value) {
  if (Array.isArray(value)) return value.filter(ofKept).map(withoutOthers);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutOthers(each)]));
}

const NAMED = ["contestant", "first", "second", "faster", "slower"];
const ofKept = (each) => NAMED.every((name) => !(name in Object(each)) || STATE.kept.label.has(each[name]));

const budgetWords = { perfect: "perfect privacy", constrained: "a positive budget", oblivious: "no constraint" };

/** A measured attempt in lines: what is behind a mark. */
function rowWords(row) {
  const lines = [
    `${row.label}: ${row.status}`,
    `${row.instance}, N = ${row.outcomes}, gap asked ${row.gap_target}`,
    `${row.seconds} s; certified gap ${row.relative_gap}`,
  ];
  if (row.claimed) lines.push(`claimed “${row.claimed}”`);
  if (row.leaks !== NOTHING) lines.push(`true leakage ÷ budget: ${row.leaks}`);
  if (row.repeat > 0) lines.push(`repeat ${row.repeat + 1}`);
  return lines;
}

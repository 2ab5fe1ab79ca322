/* The data of the page, unpacked: one object for each attempt. discreet wrote the numbers as words; only counts are numbers.
   Nothing is computed or drawn here. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const LINES = document.getElementById("lines").textContent.split("\n");
const NOTHING = DATA.nothing;

const before = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const unique = (values) => [...new Set(values)].sort(before);
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

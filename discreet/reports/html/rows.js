/* The data of the page, unpacked: one object a measured row, undefined numbers as the infinities that they stand for. */

const TONES = DATA.tones;
const UNDEFINED = { lower: -Infinity, sensors: null };

const ROWS = Array.from({ length: DATA.rows }, (_, k) => {
  const row = { index: k };
  for (const [name, column] of Object.entries(DATA.words)) row[name] = column.words[column.at[k]];
  for (const [name, values] of Object.entries(DATA.numbers)) {
    row[name] = values[k] ?? (name in UNDEFINED ? UNDEFINED[name] : Infinity);
  }
  row.answered = Number.isFinite(row.upper);
  row.violated = row.violated === 1;
  row.versions = row.versions ? row.versions.split("\n") : [];
  row.timings = DATA.timings[k];
  return row;
});

/* Who agrees with whom: certified brackets of the same problem, pair by pair, as in discreet.reports.statistics.agreement. */

function agreementOf(rows) {
  const best = bracketsOf(rows);
  const cases = [...grouped(best, (each) => each.task).values()];
  const pairs = new Map();
  const result = { contestants: unique(best.map((each) => each.contestant)), met: 0, touching: 0, against: [], pairs: [] };
  for (const answered of cases) {
    answered.forEach((one, k) => answered.slice(k + 1).forEach((other) => meet(one, other, pairs, result)));
  }
  result.pairs = ordered([...pairs.values()], (pair) => pair.first, (pair) => pair.second);
  return result;
}

/** Each contestant's bracket on each problem, narrowed to the intersection of its own repeats and gaps. */
function bracketsOf(rows) {
  const best = new Map();
  for (const row of rows) {
    if (!row.answered) continue;
    const key = `${row.hash}\n${row.instance}\n${row.label}`;
    const known = best.get(key);
    best.set(key, {
      key,
      task: `${row.hash}\n${row.instance}`,
      case: row.instance,
      contestant: row.label,
      lower: known ? Math.max(row.lower, known.lower) : row.lower,
      upper: known ? Math.min(row.upper, known.upper) : row.upper,
      perfect: row.regime === "perfect",
    });
  }
  return ordered([...best.values()], (each) => each.key);
}

function meet(one, other, pairs, result) {
  const missed = Math.max(one.lower, other.lower) - Math.min(one.upper, other.upper);
  const touching = one.perfect && missed > 0 && missed <= SPECIFICATION.allowed;
  const agree = missed <= 0 || touching;
  const [first, second] = [one.contestant, other.contestant].sort(before);
  const key = `${first}\n${second}`;
  if (!pairs.has(key)) pairs.set(key, { first, second, cases: 0, agreeing: 0, largest_difference: 0 });
  const pair = pairs.get(key);
  pair.cases += 1;
  pair.agreeing += agree ? 1 : 0;
  pair.largest_difference = Math.max(pair.largest_difference, Math.abs(one.upper - other.upper));
  result.met += 1;
  if (!agree) result.against.push({ case: one.case, first: one.contestant, second: other.contestant });
  else if (touching) result.touching += 1;
}

/* How time grows with size: sweeps, exponents and crossovers, as in discreet.reports.statistics.scaling. */

const SIZES = {
  outcomes: (row) => row.outcomes,
  sensors: (row) => row.sensors,
  alphabet: (row) => (row.private_values === row.guesses ? row.private_values : null),
};

/** Catalog entry, budget and gap with at least two sizes that any configuration certified, the widest first, for each kind of size. */
function sweepsOf(trials, noise) {
  const groups = [...grouped(trials, (t) => `${t.rows[0].entry}\n${t.rows[0].budget}\n${t.rows[0].gap}`).values()];
  return Object.keys(SIZES).flatMap((size) => {
    const found = groups.map((own) => sweepOf(own, size, noise)).filter((sweep) => sweep.sizes > 1);
    return ordered(
      found, (s) => -s.sizes, (s) => !s.constrained, (s) => -s.successes, (s) => s.entry, (s) => s.budget, (s) => s.gap,
    );
  });
}

function sweepOf(own, size, noise) {
  const series = seriesBySize(own, size);
  const first = own[0].rows[0];
  return {
    size,
    entry: first.entry,
    budget: first.budget,
    gap: first.gap,
    constrained: first.regime === "constrained",
    sizes: new Set(series.flatMap((each) => each.sizes)).size,
    successes: count(own, (trial) => trial.success),
    series,
    fits: series.map(fitExponent).filter((fit) => fit !== null),
    crossovers: crossoversOf(series, Number.isFinite(noise) ? noise : 1),
  };
}

function seriesBySize(trials, size) {
  const placed = trials
    .map((trial) => ({ trial, at: SIZES[size](trial.rows[0]) }))
    .filter(({ trial, at }) => trial.success && at !== null && at > 0 && trial.seconds > 0);
  const table = grouped(placed, ({ trial }) => trial.contestant);
  return [...table.keys()].sort(before).map((contestant) => {
    const sized = grouped(table.get(contestant), ({ at }) => at);
    const sizes = [...sized.keys()].sort((a, b) => a - b);
    const costs = sizes.map((at) => median(sized.get(at).map(({ trial }) => trial.seconds)));
    return { contestant, sizes, costs, rows: sizes.map((at) => sized.get(at)[0].trial.rows[0]) };
  });
}

function fitExponent(series) {
  const floor = Math.min(...series.costs);
  let start = series.costs.length;
  while (start > 0 && series.costs[start - 1] >= SPECIFICATION.above_floor * floor) start -= 1;
  const x = series.sizes.slice(start).map(Math.log);
  const y = series.costs.slice(start).map(Math.log);
  if (x.length < SPECIFICATION.fewest) return null;
  const [middle, height] = [total(x) / x.length, total(y) / y.length];
  const spread = total(x.map((value) => (value - middle) ** 2));
  const exponent = total(x.map((value, k) => (value - middle) * (y[k] - height))) / spread;
  const intercept = height - exponent * middle;
  const free = x.length - 2;
  const residual = total(x.map((value, k) => (y[k] - intercept - exponent * value) ** 2));
  const reach = student(free) * Math.sqrt(residual / free / spread);
  if (reach > SPECIFICATION.widest) return null;
  return {
    contestant: series.contestant, exponent, low: exponent - reach, high: exponent + reach, factor: Math.exp(intercept),
    points: x.length, from_size: series.sizes[start],
  };
}

function crossoversOf(all, noise) {
  return all.flatMap((one, k) => all.slice(k + 1).flatMap((other) => crossings(one, other, Math.log(Math.max(noise, 1)))));
}

function crossings(one, other, noise) {
  const at = (series, size) => series.costs[series.sizes.indexOf(size)];
  const clear = one.sizes
    .filter((size) => other.sizes.includes(size))
    .map((size) => [Math.log(size), Math.log(at(one, size) / at(other, size))])
    .filter(([, ratio]) => Math.abs(ratio) > noise);
  const found = [];
  for (let k = 1; k < clear.length; k += 1) {
    const [[x, earlier], [y, later]] = [clear[k - 1], clear[k]];
    if (earlier * later >= 0) continue;
    const [faster, slower] = later < 0 ? [one, other] : [other, one];
    const size = Math.exp(x + ((y - x) * earlier) / (earlier - later));
    found.push({ faster: faster.contestant, slower: slower.contestant, size });
  }
  return found;
}

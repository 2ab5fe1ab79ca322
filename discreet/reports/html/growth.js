/* Time against size: a plot with fitted exponents and crossovers for outcomes, sensors and alphabets, each over one sweep
   (a catalog entry under one budget and gap) that the reader chooses. */

const MISSING_SWEEP = {
  outcomes: "No catalog entry is left with two sizes N that any backend certified under one budget and gap, so there is nothing to draw against N.",
  sensors: "No catalog entry is left with two numbers of sensors that any backend certified, so there is nothing to draw against sensors.",
  alphabet: "No catalog entry is left with two alphabet sizes n = m that any backend certified, so there is nothing to draw against them.",
};

const LETTERS = { outcomes: "N", sensors: "M", alphabet: "n" };

const sweepName = (sweep) => `${sweep.entry}, ${sweep.budget}, gap ${figures(sweep.gap)}`;

function growthSection(numbers) {
  return Object.keys(sizeWords).flatMap((size) => growthPart(size, numbers.sweeps.filter((sweep) => sweep.size === size && sweep.series.length)));
}

function growthPart(size, sweeps) {
  const heading = make("h3", {}, `Time against ${sizeWords[size]}`);
  if (!sweeps.length) return [heading, empty(MISSING_SWEEP[size])];
  const name = `show-${size}`;
  const sweep = sweeps.find((each) => sweepName(each) === STATE.chosen[name]) ?? sweeps[0];
  const choice = make("select", { id: name, onchange: (event) => choose(name, event.target.value) },
    sweeps.map((each) => make("option", { selected: each === sweep }, sweepName(each))));
  return [heading, make("p", { class: "choice" }, make("label", { for: name }, "Problems "), choice), growthFigure(sweep), crossoverWords(sweep),
    fitTable(sweep), folded("The points as a table", pointTable(sweep))];
}

function growthFigure(sweep) {
  const sizes = sweep.series.flatMap((series) => series.sizes);
  const costs = sweep.series.flatMap((series) => series.costs);
  const series = sweep.series.map((each) => ({
    name: each.contestant,
    kind: "both",
    points: each.sizes.map((at, k) => ({ x: at, y: each.costs[k], lines: pointWords(sweep, each, k) })),
    fit: fitLine(sweep, each),
  }));
  const letter = LETTERS[sweep.size];
  const notes = Object.fromEntries(sweep.fits.map((fit) => [fit.contestant, ["∝ ", letter, make("sup", {}, fixed(fit.exponent))]]));
  return plotOf({
    title: "Seconds to a certified answer",
    note: "Certified answers only, the median where several share a size; broad pale lines are fits.",
    about: sweep.series.map((s) => `${s.contestant}: ${seconds(s.costs.at(-1))} at ${whole(s.sizes.at(-1))}`).join("; ") + ".",
    x: { label: sizeWords[sweep.size], scale: logScale(sizes) },
    y: { label: "seconds", scale: logScale(costs) },
    series,
    names: ordered(sweep.series.map((each) => each.contestant), toneOf),
    notes,
  });
}

function pointWords(sweep, series, k) {
  return [`${series.contestant}: ${seconds(series.costs[k])} at ${sizeWords[sweep.size]} = ${whole(series.sizes[k])}`,
    ...rowWords(rowAt(sweep, series.contestant, series.sizes[k])).slice(1)];
}

/** A certified row of this sweep, backend and size: what the hover text tells of. */
function rowAt(sweep, label, at) {
  return ROWS.find((row) => row.status === "certified" && row.label === label && row[sweep.size] === at
    && row.entry === sweep.entry && row.budget_word === sweep.budget && row.gap_target === sweep.gap);
}

function fitLine(sweep, series) {
  const fit = sweep.fits.find((each) => each.contestant === series.contestant);
  if (!fit) return null;
  return [fit.from_size, series.sizes.at(-1)].map((x) => ({ x, y: fit.factor * x ** fit.exponent }));
}

function crossoverWords(sweep) {
  if (!sweep.crossovers.length) return make("p", { class: "aside" }, "No crossover beyond the noise between the sizes measured.");
  return make("ul", { class: "aside" }, sweep.crossovers.map((each) =>
    make("li", {}, `${each.faster} is faster than ${each.slower} from ${LETTERS[sweep.size]} ≈ ${figures(each.size, 2)} on`)));
}

function fitTable(sweep) {
  if (!sweep.fits.length) return make("p", { class: "aside" }, `No exponent is fitted: it takes three sizes at which a backend needs at least twice its shortest time, and an interval of at most ± ${DATA.widest}.`);
  const lines = sweep.fits.map((fit) => [
    fit.contestant, fixed(fit.exponent), `${fixed(fit.low)} … ${fixed(fit.high)}`, fit.points, whole(fit.from_size),
  ]);
  return tableOf(`Fitted exponents of time ≈ c · ${sizeWords[sweep.size]}^a, ${sweepName(sweep)}`,
    ["backend", "exponent a", "95 % interval", "sizes", "fitted from"], lines, "figures");
}

function pointTable(sweep) {
  const sizes = [...new Set(sweep.series.flatMap((series) => series.sizes))].sort((a, b) => a - b);
  const lines = sweep.series.map((series) => [series.contestant, ...sizes.map((size) => {
    const k = series.sizes.indexOf(size);
    return k < 0 ? NOTHING : figures(series.costs[k]);
  })]);
  return tableOf(`Seconds by ${sizeWords[sweep.size]}`, ["backend", ...sizes.map(whole)], lines, "figures");
}

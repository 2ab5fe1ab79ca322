/* Time against size: a figure with fitted exponents and crossovers for outcomes, sensors and alphabets, each over one sweep
   (a catalog entry under one budget and gap) that the reader chooses. */

const sweepName = (sweep) => `${sweep.entry}, ${sweep.budget}, gap ${sweep.gap}`;

function growthSection({ sweeps }) {
  const drawn = sweeps.filter((sweep) => sweep.series.length);
  if (!drawn.length) return [empty("No catalog entry has two sizes that were certified under one budget and gap, so there is nothing to draw.")];
  return Object.keys(DATA.sizes).flatMap((size) => growthPart(size, drawn.filter((sweep) => sweep.size === size)));
}

function growthPart(size, sweeps) {
  const [words, letter] = DATA.sizes[size];
  const heading = make("h3", {}, `Time against ${words}`);
  if (!sweeps.length) {
    return [heading, empty(`No catalog entry has two sizes that were certified under one budget and gap, so there is nothing to draw against ${words}.`)];
  }
  const [sweep, choice] = chosenOf(`show-${size}`, "Problems", sweeps, sweepName);
  return [heading, choice, figureOf(sweep.figure, true), crossoverWords(sweep, letter), fitTable(sweep, letter), folded("The points as a table", pointTable(sweep, letter))];
}

function crossoverWords({ crossovers }, letter) {
  if (!crossovers.length) return make("p", { class: "aside" }, "No crossover beyond the noise between the sizes measured.");
  return make("ul", { class: "aside" }, crossovers.map((each) =>
    make("li", {}, `${each.faster} is faster than ${each.slower} from ${letter} ≈ ${each.size} on`)));
}

function fitTable(sweep, letter) {
  if (!sweep.fits.length) return make("p", { class: "aside" }, `No exponent is fitted: a fit needs three sizes at which a backend takes at least twice its shortest time, and an interval of at most ± ${DATA.widest}.`);
  return recordTable(`Fitted exponents of time ≈ c · ${letter}^a with 95 % intervals, ${sweepName(sweep)}`, "fits", sweep.fits);
}

function pointTable(sweep, letter) {
  const lines = sweep.series.flatMap((series) => series.sizes.map((size, k) => [series.contestant, size, series.costs[k]]));
  return tableOf(`Seconds by ${letter}`, ["backend", letter, "seconds"], lines, "figures");
}

/* Results of asv over commits: one benchmark at a time, one line for each point of its grid. */

const ASV = recordsOf(DATA.asv).map((each) => ({ ...each, place: each.place || "no parameters", commit: each.commit.slice(0, 8) }));
const MOST_LINES = 12;

// A line has the colour of its backend; several of one backend differ by dash and mark, which change every six tones.
for (const [place, k] of unique(ASV.map(lineOf)).map((name, at) => [name, at])) {
  const backend = /(?:^|, )(?:backend|solver)=([^,]+)/.exec(place)?.[1];
  const taken = new Set(Object.values(TONES));
  let tone = backend in TONES ? TONES[backend] + COLOURS : k;
  while (backend in TONES && taken.has(tone)) tone += COLOURS;
  TONES[place] ??= tone;
}

function lineOf(record) {
  return ASV.every((each) => each.machine === record.machine) ? record.place : `${record.place} on ${record.machine}`;
}

function commitsSection() {
  const names = unique(ASV.map((record) => record.benchmark));
  const usual = names.find((name) => name.includes(".time_solve")) ?? names[0];
  const chosen = names.includes(STATE.chosen["show-asv"]) ? STATE.chosen["show-asv"] : usual;
  const own = ASV.filter((record) => record.benchmark === chosen).sort((a, b) => a.place.localeCompare(b.place, "en", { numeric: true }));
  const commits = [...grouped(ordered(own, (r) => r.date, (r) => r.commit), (r) => r.commit).keys()];
  const choice = make("select", { id: "show-asv", onchange: (event) => choose("show-asv", event.target.value) },
    names.map((name) => make("option", { selected: name === chosen }, name)));
  return [make("p", { class: "aside" }, "These are not filtered: asv knows no families and budgets."),
    make("p", { class: "choice" }, make("label", { for: "show-asv" }, "Benchmark "), choice),
    commitFigure(chosen, own, commits), folded("The values as a table", ...commitTable(chosen, own, commits))];
}

function commitFigure(title, own, commits) {
  const measured = own.filter((record) => record.outcome === "measured" && record.value > 0);
  if (!measured.length) return empty("Nothing was measured for this benchmark: every point was skipped or failed; the table says which.");
  if (commits.length < 2) return empty("There is one commit only, so there is no course to draw; the table holds its values.");
  const lines = [...grouped(measured, lineOf)];
  const series = lines.slice(0, MOST_LINES).map(([name, records]) => ({
    name, kind: "both",
    points: records.map((r) => ({ x: commits.indexOf(r.commit), y: r.value, lines: [`${figures(r.value)} ${r.unit}`, name, `${r.commit}, ${r.date.slice(0, 10)}`] })),
  }));
  const more = lines.length > MOST_LINES ? ` The first ${MOST_LINES} of ${lines.length} points of the grid; the table holds all.` : "";
  return plotOf({
    title, note: `Values over commits, oldest first.${more}`, about: `${plural(commits.length, "commit")}.`,
    x: { label: "commit", scale: placeScale(commits) }, y: { label: measured[0].unit || "value", scale: logScale(measured.map((r) => r.value)) },
    series, names: series.map((each) => each.name),
  });
}

function commitTable(title, own, commits) {
  const cell = (record) => (!record ? NOTHING : record.outcome === "measured" ? figures(record.value) : record.outcome);
  const places = [...grouped(own, (r) => `${r.place}\n${r.machine}`).values()];
  const tried = places.filter((records) => records.some((r) => r.outcome !== "skipped"));
  const lines = (tried.length ? tried : places).map((records) => [
    records[0].place, records[0].machine, ...commits.map((commit) => cell(records.find((r) => r.commit === commit)))]);
  const skipped = tried.length ? places.length - tried.length : 0;
  const table = tableOf(`${title}${own[0].unit ? ` (${own[0].unit})` : ""}`, ["parameters", "machine", ...commits], lines, "figures");
  return [table, skipped ? make("p", { class: "aside" }, `Skipped on every commit: ${plural(skipped, "more point")} of the grid.`) : null];
}

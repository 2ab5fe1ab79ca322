/* Results of asv over commits: one benchmark at a time. */

const ASV = recordsOf(DATA.asv).map((each) => ({ ...each, place: each.place || "no parameters", commit: each.commit.slice(0, 8) }));

function commitsSection() {
  const names = ordered(unique(ASV.map((record) => record.benchmark)), (name) => !name.includes(".time_solve"));
  const [chosen, choice] = chosenOf("show-asv", "Benchmark", names, (name) => name);
  const own = ASV.filter((record) => record.benchmark === chosen).sort((a, b) => a.place.localeCompare(b.place, "en", { numeric: true }));
  const commits = [...grouped(ordered(own, (r) => r.date, (r) => r.commit), (r) => r.commit).keys()];
  return [make("p", { class: "aside" }, "The filters do not apply here: results of asv have no family and no budget."), courseFigure(), choice,
    folded("The values as a table", ...commitTable(chosen, own, commits))];
}

function courseFigure() {
  if (DATA.course) return figureOf(DATA.course);
  return empty(unique(ASV.map((record) => record.commit)).length < 2
    ? "There is one commit only, so there is no course to draw; the table holds its values."
    : "No time was measured on two commits, so there is no course to draw; the table holds what was measured.");
}

function commitTable(title, own, commits) {
  const cell = (record) => (!record ? NOTHING : record.outcome === "measured" ? record.value : record.outcome);
  const places = [...grouped(own, (r) => `${r.place}\n${r.machine}`).values()];
  const tried = places.filter((records) => records.some((r) => r.outcome !== "skipped"));
  const lines = (tried.length ? tried : places).map((records) => [
    records[0].place, records[0].machine, ...commits.map((commit) => cell(records.find((r) => r.commit === commit)))]);
  const skipped = tried.length ? places.length - tried.length : 0;
  const table = tableOf(`${title}${own[0].unit ? ` (${own[0].unit})` : ""}`, ["parameters", "machine", ...commits], lines, "figures");
  return [table, skipped ? make("p", { class: "aside" }, `Skipped on every commit: ${plural(skipped, "more point")} of the grid.`) : null];
}

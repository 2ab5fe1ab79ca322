/* Work–precision, performance and data profiles, and shifted geometric means. */

// Trials whose own answers kept the budget: the first row, the largest gap certified and the seconds of each.
const WORK = DATA.work.map(([k, achieved, taken]) => ({ row: ROWS[k], achieved: achieved ?? Infinity, seconds: taken }));
const FINEST = 1e-16; // gaps below rounding stand on this edge

function precisionSection({ rows, precision }) {
  const kept = new Set(rows);
  const drawn = WORK.filter((point) => point.seconds > 0 && kept.has(point.row));
  if (!drawn.length) return [empty("No answer that kept its budget is left with a time: nothing to draw.")];
  const gap = (point) => Math.min(1, Math.max(point.achieved, FINEST));
  const names = ordered(unique(drawn.map((point) => point.row.label)), toneOf);
  const series = names.map((name) => ({
    name, kind: "points",
    points: drawn.filter((point) => point.row.label === name).map((point) => ({ x: gap(point), y: point.seconds, lines: rowWords(point.row) })),
  }));
  const lines = ordered(precision, (own) => toneOf(own.contestant)).map((own) =>
    [own.contestant, whole(own.answers), figures(own.median_gap, 2), figures(own.largest_gap, 2), figures(own.median_seconds)]);
  return [
    plotOf({
      title: "Seconds against the certified relative gap achieved", about: `${plural(drawn.length, "answer")} that kept the budget.`,
      note: "One mark a trial whose own answers kept the budget, at the gap proven for it, whatever was asked. Left and low is better.",
      x: { label: "relative gap, certified", scale: logScale(drawn.map(gap)) }, y: { label: "seconds", scale: logScale(drawn.map((p) => p.seconds)) },
      series, names,
    }),
    tableOf("Answers that kept the budget", ["backend", "answers", "median gap", "largest gap", "median seconds"], lines, "figures"),
    folded("Every answer as a table", tableOf("Every answer that kept the budget", ["backend", "problem and budget", "gap asked", "certified gap", "seconds"],
      drawn.map((p) => [p.row.label, p.row.instance, figures(p.row.gap_target), figures(p.achieved, 2), figures(p.seconds)]))),
  ];
}

function profileSection({ performance, data }) {
  if (!data.length) return [empty("No backend that is left was tried on a task that is left, so there is no profile.")];
  return [
    ...profilePart(performance, {
      title: "Performance profile", x: "time ÷ best time, at most", hint: (at) => `${figures(at)} × the best time`,
      note: (n) => `Share of the ${plural(n, "task")} that any backend certified. A failure counts as infinite time, a task that is not served as not solved.`,
      none: "No task that is left was certified, so there is no best time to compare with.", marks: [1, 2, 10, 100],
    }),
    ...profilePart(data, {
      title: "Data profile: solved within a time", x: "seconds, at most", hint: seconds,
      note: (n) => `Share of all ${plural(n, "task")} certified within so many seconds.`,
      none: "No task that is left was certified within any time.", marks: [0.01, 0.1, 1, 10],
    }),
  ];
}

function profilePart(profiles, words) {
  const reached = profiles.filter((profile) => profile.at.length);
  const heading = make("h3", {}, words.title);
  if (!reached.length) return [heading, empty(words.none)];
  const positive = reached.flatMap((profile) => profile.at).filter((at) => at > 0);
  const start = positive.length ? Math.min(...positive) : 1; // a time of 0 stands on the left edge
  const end = 1.3 * Math.max(...positive, 1.01 * start);
  const share = (profile, at) => profile.shares[count(profile.at, (value) => value <= at) - 1] ?? 0;
  const series = ordered(reached, (profile) => toneOf(profile.contestant)).map((profile) => {
    const points = profile.at.map((x, k) => ({ x: Math.max(x, start), y: profile.shares[k], lines: [`${profile.contestant}: ${percent(profile.shares[k])}`, `within ${words.hint(x)}`] }));
    const path = [{ x: start, y: share(profile, start) }, ...points, { x: end, y: profile.shares.at(-1) }];
    return { name: profile.contestant, kind: "steps", points, path };
  });
  const lines = profiles.map((profile) => [profile.contestant, ...words.marks.map((at) => percent(share(profile, at))), percent(profile.shares.at(-1) ?? 0)]);
  return [
    heading,
    plotOf({
      title: words.title, bare: true, note: words.note(profiles[0].tasks),
      about: reached.map((profile) => `${profile.contestant} reaches ${percent(profile.shares.at(-1))}`).join("; ") + ".",
      x: { label: words.x, scale: logScale([start, end], { room: 0 }) }, y: { label: "share of tasks", scale: shareScale() },
      series, names: series.map((each) => each.name),
    }),
    folded("The profile as a table", tableOf(words.title, ["backend", ...words.marks.map((at) => `≤ ${words.hint(at)}`), "in the end"], lines, "figures")),
  ];
}

function meansSection({ means }) {
  if (!means.rows.length) return [empty("No backend that is left was tried on a task that is left, so there is nothing to average.")];
  const names = unique(means.rows.map((mean) => mean.contestant));
  const charged = [...new Set(means.rows.map((mean) => mean.penalty))].filter((k) => k !== null);
  const of = (name, penalty) => means.rows.find((mean) => mean.contestant === name && mean.penalty === penalty);
  const shared = Math.max(...names.map((name) => of(name, null).tasks));
  const cell = (mean) => (Number.isFinite(mean.seconds) ? { node: make("div", {}, make("span", { class: "count" }, figures(mean.seconds)), make("span", { class: "apart" }, `${figures(mean.low)} … ${figures(mean.high)}`)) } : NOTHING);
  const lines = names.map((name) => {
    const first = of(name, charged[0]);
    return [name, `${first.tasks - first.failures} of ${first.tasks}`, ...[...charged, null].map((k) => cell(of(name, k)))];
  });
  const sharedWords = shared
    ? `The last column is over the ${plural(shared, "task")} that all backends certified.`
    : "No task was certified by all backends, so the last column is empty; a report of fewer backends (--backends) compares these over what they all solved.";
  const noise = Number.isFinite(means.noise_floor)
    ? `Repeats of one trial differ by a factor of up to ${figures(means.noise_floor)} (95th percentile of an A/A test): smaller differences say nothing.`
    : "No trial that is left was repeated, so how much of a difference is noise is not known.";
  return [
    make("p", { class: "aside" }, `Seconds, with 95 % intervals over tasks (Student’s, of the mean logarithm); those of other backends change nothing. The shift is ${figures(means.shift)} s, the ${DATA.shift_percentile}th percentile of the successful times. A failure is charged ${charged.join(", ")} time limits. ${sharedWords} ${noise}`),
    tableOf("Shifted geometric means of seconds", ["backend", "certified of tried", ...charged.map((k) => `failures × ${k} ${k === 1 ? "limit" : "limits"}`), "all solved"], lines, "figures"),
  ];
}

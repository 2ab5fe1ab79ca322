// The page: rows out of the data, filters, and every section drawn again from what the filters leave.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { element, number } = Chart;
  const byId = (id) => document.getElementById(id);
  const orInfinity = (value) => (value === null ? Infinity : value);
  const toneOf = new Map(data.contestants.map((who, tone) => [who, tone]));

  // -- rows -----------------------------------------------------------------------------------------------------------
  const rows = data.rows.map((cells) => {
    const row = Object.fromEntries(data.columns.map((name, k) => [name, cells[k]]));
    const status = data.statuses[row.status], about = data.tasks[row.task];
    return {
      task: row.task, about, who: data.contestants[row.who], status: status.name, certified: status.name === "certified",
      untried: status.untried, claim: data.claims[row.claim], claimed: data.words[row.claimed], ratio: orInfinity(row.ratio),
      finite: about.regime !== "oblivious", violated: Boolean(row.violated), answered: row.upper !== null, gap: orInfinity(row.gap),
      seconds: row.seconds, limit: orInfinity(row.limit), lower: row.lower === null ? -Infinity : row.lower,
      upper: orInfinity(row.upper), bytes: row.bytes, reason: data.words[row.reason], timings: row.timings,
    };
  });

  // -- filters: what is left out, kept in the address so that a view can be shared ------------------------------------
  const filters = [
    { name: "family", host: "filter-family", of: (row) => row.about.family, values: data.families, title: "Families" },
    { name: "backend", host: "filter-backend", of: (row) => row.who, values: data.contestants, title: "Backends" },
    { name: "budget", host: "filter-budget", of: (row) => row.about.regime, values: data.regimes, title: "Budgets" },
    { name: "gap", host: "filter-gap", of: (row) => String(row.about.gap), values: data.gaps.map(String), title: "Gap asked for" },
  ];
  const out = Object.fromEntries(filters.map((filter) => [filter.name, new Set()]));
  function readAddress() {
    const said = new URLSearchParams(location.hash.slice(1));
    for (const filter of filters) {
      out[filter.name] = new Set((said.get(filter.name) || "").split("|").filter((value) => filter.values.includes(value)));
    }
  }
  function writeAddress() {
    const said = new URLSearchParams();
    for (const filter of filters) if (out[filter.name].size) said.set(filter.name, [...out[filter.name]].join("|"));
    history.replaceState(null, "", `${location.pathname}${location.search}${String(said) ? `#${said}` : ""}`);
  }
  const left = () => rows.filter((row) => filters.every((filter) => !out[filter.name].has(filter.of(row))));

  function buildFilters() {
    for (const filter of filters) {
      const host = byId(filter.host);
      host.replaceChildren(element("legend", {}, filter.title));
      for (const value of filter.values) {
        const box = element("input", { type: "checkbox", value, "data-filter": filter.name });
        box.checked = !out[filter.name].has(value);
        box.addEventListener("change", () => {
          if (box.checked) out[filter.name].delete(value);
          else out[filter.name].add(value);
          update();
        });
        const label = element("label", {}, box, value);
        if (filter.name === "backend") {
          const tone = toneOf.get(value);
          const key = Chart.node("svg", { width: 14, height: 14, "aria-hidden": "true", class: `t${tone % 6}` });
          key.append(Chart.mark(Chart.markOf(tone), 7, 7, 4, { class: "mark" }));
          label.insertBefore(key, label.lastChild);
        }
        host.append(label);
      }
      const all = element("button", { type: "button", class: "small" }, "all"), none = element("button", { type: "button", class: "small" }, "none");
      all.setAttribute("aria-label", `${filter.title}: all`);
      none.setAttribute("aria-label", `${filter.title}: none`);
      all.addEventListener("click", () => choose(filter, []));
      none.addEventListener("click", () => choose(filter, filter.values));
      host.append(element("span", { class: "both" }, all, none));
    }
  }
  function choose(filter, leftOut) {
    out[filter.name] = new Set(leftOut);
    for (const box of document.querySelectorAll(`input[data-filter="${filter.name}"]`)) box.checked = !out[filter.name].has(box.value);
    update();
  }

  // -- small helpers --------------------------------------------------------------------------------------------------
  const hiddenIn = new Map();
  const draw = (id, spec) => {
    if (!hiddenIn.has(id)) hiddenIn.set(id, new Set());
    Chart.draw(byId(id), spec, hiddenIn.get(id));
  };
  const say = (id, ...parts) => byId(id).replaceChildren(...parts);
  const seconds = (value) => `${number(value)} s`;
  const percent = (share) => (Number.isNaN(share) ? "–" : `${number(100 * share)} %`);
  function fill(id, heads, lines, nothing) {
    if (!lines.length) return say(id, element("p", { class: "nothing" }, nothing));
    const row = (cells) => {
      const [first, ...others] = cells.map((cell) => (typeof cell === "object" ? cell : { words: cell }));
      return element("tr", {}, element("th", { scope: "row" }, first.words), ...others.map((cell) =>
        element("td", cell.of || {}, cell.value === undefined ? cell.words : element("data", { value: String(cell.value) }, cell.words))));
    };
    const head = element("tr", {}, ...heads.map((words) => element("th", { scope: "col" }, words)));
    return say(id, element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": byId(id).dataset.label },
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines.map(row)))));
  }
  const valued = (value, words, of) => ({ value, words, of });

  // -- sections -------------------------------------------------------------------------------------------------------
  function summary(chosen, found) {
    const tried = found.filter((trial) => trial.tried), tasks = Stats.byTask(found);
    const solved = [...tasks.values()].filter((met) => met.some((trial) => trial.success)).length;
    const claims = Stats.claimRecords(chosen), made = claims.reduce((total, each) => total + each.claims, 0);
    const right = claims.reduce((total, each) => total + each.right, 0), broken = claims.reduce((total, each) => total + each.violations, 0);
    const item = (name, value, words) => element("li", {}, element("data", { value: String(value), "data-name": name }, number(value, 6)), ` ${words}`);
    say("summary",
      item("attempts", chosen.length, "attempts"), item("backends", new Set(tried.map((trial) => trial.who)).size, "backends tried"),
      item("tasks", tasks.size, "tasks: a problem, a budget and a gap to be certified"), item("solved", solved, "of them certified by somebody"),
      item("claims", made, 'answers called solved ("optimal")'), item("true", right, "of these claims were true"),
      item("broken", broken, "of these claims broke the privacy budget"));
    byId("left").textContent = `${chosen.length} of ${rows.length} attempts`;
  }

  const LEAST_RATIO = 1e-6;
  function claims(chosen) {
    const leaks = Stats.claimedLeaks(chosen);
    const order = data.contestants.filter((who) => leaks.some((row) => row.who === who));
    const series = order.map((who, k) => ({
      label: who, tone: toneOf.get(who), kind: "points",
      points: leaks.filter((row) => row.who === who).map((row, j) => ({
        x: Math.max(row.ratio, LEAST_RATIO), y: k, shift: ((j * 7) % 13) - 6, bad: row.violated,
        hint: `${who} on ${row.about.instance}, gap ${row.about.gap}: claimed ${row.claimed}, leaks ${number(row.ratio)} × the budget`,
        cells: [row.about.instance, number(row.ratio), row.violated ? "broke the budget" : "kept it"],
      })),
    }));
    draw("claims-plot", {
      title: "True leakage over budget of every answer called solved", text: "One mark an answer; in the shaded zone the budget is broken.",
      x: `true leakage ÷ budget (at perfect privacy ÷ what counts as zero); ${number(LEAST_RATIO)} and less at the left edge`, logX: true,
      categories: order, level: 1, zone: 1, series, heads: ["instance", "true leakage ÷ budget", "budget"], nothing: "No answer was called solved under a finite budget.",
    });
    fill("claims-table", ["backend", "attempts", "claimed", "true", "correct rate", "broke the budget", "worst leakage ÷ budget", "certified, not claimed"],
      Stats.claimRecords(chosen).map((each) => [each.who, valued(each.attempts, String(each.attempts)), valued(each.claims, String(each.claims)),
        valued(each.right, String(each.right)), valued(each.rate, percent(each.rate)),
        valued(each.violations, String(each.violations), each.violations ? { class: "bad" } : {}), valued(each.worst, number(each.worst)), valued(each.unclaimed, String(each.unclaimed))]),
      "Nothing was tried.");
  }

  const chosenSweep = { key: null };
  const SIZES = [["outcomes", "outcomes N"], ["bins", "bins"], ["sensors", "sensors"], ["alphabet", "n = m"]];
  function sweeps(found) {
    const made = [];
    for (const [size, words] of SIZES) {
      const groups = Stats.groupBy(found.filter((trial) => trial.about[size] > 0), (trial) => `${trial.about.entry}|${trial.about.word}|${trial.about.gap}`);
      for (const [key, own] of groups) {
        const sizes = new Set(own.map((trial) => trial.about[size])).size;
        if (sizes < 2 || (size === "outcomes" && own.some((trial) => trial.about.bins || trial.about.sensors))) continue;
        const about = own[0].about;
        made.push({ key: `${size}|${key}`, size, words, own, sizes, name: `${about.entry}, ${about.word}, gap ${about.gap}: by ${words} (${sizes} sizes)`,
          count: own.filter((trial) => trial.success).length });
      }
    }
    return made.sort((a, b) => b.sizes - a.sizes || b.count - a.count || (a.key < b.key ? -1 : 1));
  }
  function growth(found) {
    const all = sweeps(found), picker = byId("sweep");
    picker.replaceChildren(...all.map((each) => element("option", { value: each.key }, each.name)));
    picker.disabled = !all.length;
    const sweep = all.find((each) => each.key === chosenSweep.key) || all[0];
    const nothing = "No family of problems is left at two sizes or more.";
    if (!sweep) {
      for (const id of ["growth-plot", "growth-table", "growth-cross"]) say(id, element("p", { class: "nothing" }, nothing));
      return;
    }
    picker.value = sweep.key;
    const all_series = Stats.seriesBySize(sweep.own, sweep.size);
    const fits = new Map(all_series.map((each) => [each.who, Stats.fitExponent(each, data.student)]));
    draw("growth-plot", {
      title: `Seconds to solve by ${sweep.words}`, text: "Certified answers only; thin lines are the fitted powers.",
      x: sweep.words, y: "seconds", logX: true, logY: true, nothing: "Nothing was certified here.", heads: [sweep.words, "seconds"],
      series: all_series.sort((a, b) => toneOf.get(a.who) - toneOf.get(b.who)).map((each) => {
        const fit = fits.get(each.who);
        return {
          label: each.who, words: fit ? `${each.who}  ∝ ${sweep.size === "outcomes" ? "N" : "size"}^${fit.exponent.toFixed(2)}` : each.who, tone: toneOf.get(each.who), kind: "both",
          points: each.sizes.map((size, k) => ({ x: size, y: each.costs[k], hint: `${each.who}, ${sweep.words} ${number(size, 6)}: ${seconds(each.costs[k])}` })),
          fit: fit ? [fit.from, fit.to].map((size) => [size, fit.factor * size ** fit.exponent]) : null,
        };
      }),
    });
    fill("growth-table", ["backend", "exponent", "95 % interval", "sizes", "from"],
      [...fits].filter(([, fit]) => fit).map(([who, fit]) => [who, valued(fit.exponent, fit.exponent.toFixed(2)), `${fit.low.toFixed(2)} … ${fit.high.toFixed(2)}`, String(fit.points), number(fit.from, 6)]),
      "No backend has three sizes above twice its constant floor: nothing to fit.");
    const floor = Stats.noiseFloor(found);
    const crossed = Stats.crossovers(all_series, Number.isNaN(floor) ? 1 : floor);
    say("growth-cross", crossed.length
      ? element("ul", {}, ...crossed.map((each) => element("li", {}, `${each.faster} overtakes ${each.slower} at ${sweep.words} ≈ ${number(each.size, 2)}`)))
      : element("p", { class: "nothing" }, "No two curves cross."));
  }

  function precision(found) {
    const points = Stats.workPrecision(found);
    draw("precision-plot", {
      title: "Seconds against the certified gap", text: "Every answer that kept its budget, at the gap it really reached.",
      x: "certified relative gap reached (10⁻¹⁶ and less at the left edge)", y: "seconds", logX: true, logY: true,
      nothing: "No answer kept its budget.", heads: ["instance", "gap reached", "seconds"],
      series: data.contestants.map((who) => ({
        label: who, tone: toneOf.get(who), kind: "points",
        points: points.filter((each) => each.trial.who === who && each.seconds > 0).map((each) => ({
          x: Math.max(each.achieved, 1e-16), y: each.seconds,
          hint: `${who} on ${each.trial.about.instance}: gap ${number(each.achieved)} (asked ${each.trial.about.gap}) in ${seconds(each.seconds)}`,
          cells: [each.trial.about.instance, number(each.achieved), number(each.seconds)],
        })),
      })),
    });
  }

  function profiles(found) {
    const stepsOf = (all, unit) => all.map((each) => ({
      label: each.who, tone: toneOf.get(each.who), kind: "steps",
      points: each.at.map((value, k) => ({ x: value, y: each.shares[k], hint: `${each.who}: ${percent(each.shares[k])} of ${each.tasks} tasks within ${unit(value)}` })),
    })).sort((a, b) => a.tone - b.tone);
    draw("performance-plot", {
      title: "Performance profile", text: "Share of tasks on which a backend needs at most this factor of the best time.",
      x: "factor of the best time", y: "share of the tasks that somebody solved", logX: true, rangeY: [0, 1.02], nothing: "No task was certified by anybody.",
      series: stepsOf(Stats.performanceProfiles(found), (value) => `${number(value)} × the best`),
    });
    draw("data-plot", {
      title: "Data profile", text: "Share of tasks certified within so many seconds.",
      x: "seconds", y: "share of the tasks tried", logX: true, rangeY: [0, 1.02], nothing: "No task was certified by anybody.",
      series: stepsOf(Stats.dataProfiles(found), seconds),
    });
  }

  function meanTimes(found) {
    const options = { penalties: data.penalties, percentile: data.shiftPercentile, seed: data.seed, resamples: data.resamples };
    const all = Stats.means(found, options), names = [...new Set(all.map((each) => each.who))];
    const floor = Stats.noiseFloor(found);
    const shift = all.length ? all[0].shift : NaN, shared = all.filter((each) => each.penalty === null).map((each) => each.tasks);
    say("means-note", `The shift is ${number(shift)} s, the ${data.shiftPercentile}th percentile of all successful times left. `
      + (Number.isNaN(floor) ? "No trial was repeated: how much of a difference is noise is not known."
        : `Repeats of the same trial differ by a factor of up to ${number(floor)}: smaller differences say nothing.`));
    const of = (who, penalty) => all.find((each) => each.who === who && each.penalty === penalty);
    const words = (each) => (Number.isNaN(each.seconds) ? "–" : `${number(each.seconds)} (${number(each.low, 2)} … ${number(each.high, 2)})`);
    const first = data.penalties[0], order = data.contestants.filter((who) => names.includes(who));
    draw("means-plot", {
      title: `Shifted geometric mean of seconds, a failure charged ${first} × its limit`, text: "Whiskers are 95 % bootstrap intervals over tasks.",
      x: "seconds", logX: true, categories: order, nothing: "Nothing was tried.", heads: ["seconds", "interval"],
      series: order.map((who, k) => ({
        label: who, tone: toneOf.get(who), kind: "bars",
        points: [of(who, first)].filter((each) => each.seconds > 0).map((each) => ({
          x: each.seconds, low: Math.max(each.low, each.seconds / 1e3), high: each.high, y: k, hint: `${who}: ${words(each)} s over ${each.tasks} tasks, ${each.failures} failures`,
          cells: [number(each.seconds), `${number(each.low)} … ${number(each.high)}`],
        })),
      })),
    });
    fill("means-table", ["backend", "certified of tried", ...data.penalties.map((k) => `failures × ${k} limits`), `the ${shared.length ? Math.max(...shared) : 0} all solved`],
      names.map((who) => [who, `${of(who, first).tasks - of(who, first).failures} of ${of(who, first).tasks}`,
        ...[...data.penalties, null].map((k) => valued(of(who, k).seconds, words(of(who, k))))]), "Nothing was tried.");
  }

  function agreement(chosen) {
    const found = Stats.agreement(chosen, data.allowed);
    const near = found.touching ? ` ${found.touching} of them, under perfect privacy, only within what counts as leak-free in double precision.` : "";
    say("agreement-note", !found.met ? "No two backends answered the same problem."
      : found.against ? `${found.against} of ${found.met} pairs of brackets exclude one another: a certificate is wrong.${near}`
        : `All ${found.met} pairs of certified brackets of the same problem intersect.${near}`);
    const pair = (a, b) => found.pairs.get(a < b ? `${a}|${b}` : `${b}|${a}`);
    fill("agreement-table", ["", ...found.names], found.names.map((one) => [one, ...found.names.map((other) => {
      const met = one === other ? null : pair(one, other);
      if (!met) return { words: one === other ? "·" : "–", of: { class: "none" } };
      return { value: met.agreeing, words: `${met.agreeing}/${met.cases}`, of: { class: met.agreeing < met.cases ? "bad" : "agree", title: `error probabilities differ by up to ${number(met.difference)}` } };
    })]), "No two backends answered the same problem.");
  }

  function reasons(chosen) {
    fill("failures-table", ["backend", "status", "reason", "times", "for example"],
      Stats.failures(chosen).map((each) => [each.who, each.status, { words: each.reason, of: { class: "wide" } }, valued(each.count, String(each.count)), each.example]),
      "Everything that was tried is certified.");
  }

  const chosenBenchmark = { name: null };
  function commits() {
    if (!data.asv.length) return;
    const names = [...new Set(data.asv.map((record) => record.benchmark))], picker = byId("benchmark");
    if (!picker.children.length) picker.append(...names.map((name) => element("option", { value: name }, name)));
    const name = chosenBenchmark.name || names[0], own = data.asv.filter((record) => record.benchmark === name);
    const order = [...new Set(own.map((record) => `${record.date} ${record.commit}`))].sort();
    const curves = Stats.groupBy(own.filter((record) => record.value !== null), (record) => `${record.parameters}${data.machines > 1 ? ` on ${record.machine}` : ""}`);
    draw("asv-plot", {
      title: name, text: "One line for each point of the grid, over commits in the order of their dates.", x: "commit, oldest first", y: own[0].unit, logY: true,
      nothing: "Nothing was measured here: every point was skipped or failed.", heads: ["commit", own[0].unit],
      series: [...curves].map(([label, records], tone) => ({
        label, tone, kind: "both", points: records.map((record) => ({
          x: order.indexOf(`${record.date} ${record.commit}`) + 1, y: record.value, hint: `${label || name} at ${record.commit.slice(0, 8)}, ${record.date.slice(0, 10)}: ${number(record.value)} ${record.unit}`,
          cells: [`${record.commit.slice(0, 8)}, ${record.date.slice(0, 10)}`, number(record.value)],
        })).sort((a, b) => a.x - b.x),
      })),
    });
    const skipped = own.filter((record) => record.outcome === "skipped").length, failed = own.filter((record) => record.outcome === "failed").length;
    say("asv-note", `${own.length} points, of which ${skipped} were skipped and ${failed} failed.`);
  }

  // -- together -------------------------------------------------------------------------------------------------------
  let chosen = rows, found = Stats.trials(rows);
  function show() {
    summary(chosen, found);
    claims(chosen);
    growth(found);
    precision(found);
    profiles(found);
    meanTimes(found);
    agreement(chosen);
    reasons(chosen);
    commits();
  }
  function update() {
    chosen = left();
    found = Stats.trials(chosen);
    writeAddress();
    show();
    document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn || 0) + 1);
  }
  function start() {
    readAddress();
    buildFilters();
    byId("sweep").addEventListener("change", (event) => {
      chosenSweep.key = event.target.value;
      growth(found);
    });
    if (data.asv.length) byId("benchmark").addEventListener("change", (event) => {
      chosenBenchmark.name = event.target.value;
      commits();
    });
    byId("reset").addEventListener("click", () => {
      for (const filter of filters) out[filter.name] = new Set();
      hiddenIn.clear();
      buildFilters();
      update();
    });
    byId("theme").addEventListener("click", () => {
      const root = document.documentElement;
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      byId("theme").setAttribute("aria-pressed", String(!dark));
    });
    window.addEventListener("hashchange", () => {
      readAddress();
      buildFilters();
      update();
    });
    let width = document.body.clientWidth, waiting = null;
    window.addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        if (document.body.clientWidth !== width) show();
        width = document.body.clientWidth;
      }, 150);
    });
    update();
    if (matchMedia("(max-width: 46rem)").matches) byId("filters").removeAttribute("open");
  }
  window.discreet = { rows, left, trials: () => found, chosen: () => chosen, data };
  start();
})();

/* The statistics of the page, recomputed for whatever the filters leave, as discreet.reports.statistics specifies them: its
   constants travel with the page, and a test holds the results together. Every function is pure. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const SPECIFICATION = DATA.specification;
const PENALTIES = SPECIFICATION.penalties;
const NOT_TRIED = new Set(SPECIFICATION.not_tried);

const before = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const unique = (values) => [...new Set(values)].sort(before);
const count = (values, test) => values.reduce((sum, value) => sum + (test(value) ? 1 : 0), 0);
const total = (values) => values.reduce((sum, value) => sum + value, 0);

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

function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  const place = ((sorted.length - 1) * share) / 100;
  const low = Math.floor(place);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}

const median = (values) => percentile(values, 50);

// -- trials: the repeats of one backend on one task --------------------------------------------------------------------

/** Rows arrive in the order of the trials, repeats in order; grouping keeps it. */
function trialsOf(rows) {
  const found = grouped(rows, (row) => `${row.instance}\n${row.gap}\n${row.hash}\n${row.label}`);
  return [...found.values()].map((own) => {
    const success = own.every((row) => row.status === "certified");
    const seconds = median(own.map((row) => row.seconds));
    return {
      task: `${own[0].instance}\n${own[0].gap}\n${own[0].hash}`,
      contestant: own[0].label,
      rows: own,
      success,
      tried: !own.some((row) => NOT_TRIED.has(row.status)),
      seconds,
      cost: success ? seconds : Infinity,
      limit: Math.max(...own.map((row) => row.limit)),
    };
  });
}

const contestantsOf = (trials) => unique(trials.filter((trial) => trial.tried).map((trial) => trial.contestant));

function byTask(trials) {
  const table = new Map();
  for (const trial of trials) {
    if (!trial.tried) continue;
    if (!table.has(trial.task)) table.set(trial.task, new Map());
    table.get(trial.task).set(trial.contestant, trial);
  }
  return table;
}

// -- claims ------------------------------------------------------------------------------------------------------------

function claimRecords(rows) {
  const found = grouped(rows.filter((row) => !NOT_TRIED.has(row.status)), (row) => row.label);
  return [...found.keys()].sort(before).map((name) => claimRecord(name, found.get(name)));
}

function claimRecord(contestant, own) {
  const certified = (row) => row.status === "certified";
  const solved = own.filter((row) => row.claim === "solved");
  const ratios = solved.filter((row) => row.answered && row.regime !== "oblivious").map((row) => row.leak);
  const right = count(solved, certified);
  return {
    contestant,
    attempts: own.length,
    claims: solved.length,
    true_claims: right,
    violations: count(solved, (row) => row.violated),
    unclaimed: count(own, certified) - right,
    correct_rate: solved.length ? right / solved.length : NaN,
    worst_leakage: ratios.length ? Math.max(...ratios) : NaN,
  };
}

function claimedLeaks(rows) {
  const leaks = rows
    .filter((row) => row.answered && row.regime !== "oblivious" && row.claim === "solved")
    .map((row) => ({
      contestant: row.label, instance: row.instance, gap: row.gap, ratio: row.leak, violated: row.violated, row,
    }));
  return ordered(leaks, (a) => a.contestant, (a) => a.instance, (a) => a.gap, (a) => a.ratio);
}

// -- profiles and work–precision ---------------------------------------------------------------------------------------

function stepsOf(contestant, values, tasks) {
  const finite = values.filter(Number.isFinite).sort((a, b) => a - b);
  const at = [...new Set(finite)];
  const shares = at.map((value) => count(finite, (each) => each <= value) / tasks);
  return { contestant, at, shares, tasks };
}

function performanceProfiles(trials) {
  const table = byTask(trials);
  const best = new Map([...table].map(([task, met]) => [task, Math.min(...[...met.values()].map((trial) => trial.cost))]));
  const solved = [...table.keys()].filter((task) => Number.isFinite(best.get(task)));
  const ratio = (cost, least) => (cost === least ? 1 : least > 0 ? cost / least : Infinity);
  return contestantsOf(trials).map((name) => {
    const own = solved.filter((task) => table.get(task).has(name));
    return stepsOf(name, own.map((task) => ratio(table.get(task).get(name).cost, best.get(task))), solved.length);
  });
}

function dataProfiles(trials) {
  const table = byTask(trials);
  return contestantsOf(trials).map((name) => {
    const own = [...table.values()].filter((met) => met.has(name));
    return stepsOf(name, own.map((met) => met.get(name).cost), table.size);
  });
}

function workPrecision(trials) {
  return trials
    .filter((trial) => trial.tried && trial.rows.every((row) => row.answered && !row.violated))
    .map((trial) => ({
      contestant: trial.contestant,
      instance: trial.rows[0].instance,
      asked: trial.rows[0].gap,
      achieved: Math.max(...trial.rows.map((row) => row.achieved)),
      seconds: trial.seconds,
      row: trial.rows[0],
    }));
}

// -- shifted geometric means -------------------------------------------------------------------------------------------

const student = (free) => SPECIFICATION.student[Math.min(free, SPECIFICATION.student.length) - 1];

/** exp(mean log(t + shift)) − shift and the ends of its interval, kept between the least and the largest value. */
function withInterval(values, shift) {
  if (!values.length) return [NaN, NaN, NaN];
  const data = Float64Array.from(values).sort();
  const [least, largest] = [data[0], data[data.length - 1]];
  const far = shift > largest;
  const logs = [...data].map((value) => (far ? Math.log1p(value / shift) : Math.log(Math.max(value + shift, 2.2250738585072014e-308))));
  const middle = total(logs) / logs.length;
  const free = logs.length - 1;
  const spread = free ? Math.sqrt(total(logs.map((value) => (value - middle) ** 2)) / free) : 0;
  const reach = free ? (student(free) * spread) / Math.sqrt(logs.length) : 0;
  const plain = (end) => (far ? shift * Math.expm1(end) : Math.exp(Math.min(end, 700)) - shift);
  return [middle, middle - reach, middle + reach].map((end) => Math.min(Math.max(plain(end), least), largest));
}

function meansOf(trials) {
  const times = trials.filter((trial) => trial.success).map((trial) => trial.seconds);
  const shift = times.length ? percentile(times, SPECIFICATION.shift_percentile) : 0;
  const table = byTask(trials);
  const names = contestantsOf(trials);
  const shared = [...table.values()].filter((met) => met.size === names.length && [...met.values()].every((t) => t.success));
  const charged = (trial, k) =>
    trial.success ? trial.seconds : k * Math.max(Number.isFinite(trial.limit) ? trial.limit : 0, trial.seconds);
  const mean = (contestant, penalty, values, failures) => {
    const [seconds, low, high] = withInterval(values, shift);
    return { contestant, penalty, tasks: values.length, failures, seconds, low, high };
  };
  const rows = names.flatMap((name) => {
    const own = [...table.values()].filter((met) => met.has(name)).map((met) => met.get(name));
    const failures = count(own, (trial) => !trial.success);
    const penalised = PENALTIES.map((k) => mean(name, k, own.map((trial) => charged(trial, k)), failures));
    return [...penalised, mean(name, null, shared.map((met) => met.get(name).seconds), 0)];
  });
  return { shift, noise_floor: noiseFloor(trials), rows };
}

/** The 95th percentile of the ratio of two halves of the repeated timings of a trial: what noise alone can do. */
function noiseFloor(trials) {
  const ratios = [];
  for (const trial of trials) {
    const times = trial.rows.flatMap((row) => row.timings);
    if (!trial.success || times.length < 2) continue;
    const one = median(times.filter((_, k) => k % 2 === 0));
    const other = median(times.filter((_, k) => k % 2 === 1));
    ratios.push(Math.max(one, other) / Math.min(one, other));
  }
  return ratios.length ? percentile(ratios, 95) : NaN;
}

// -- failures, origin and the whole ------------------------------------------------------------------------------------

function failureGroups(rows) {
  const lost = rows.filter((row) => row.status !== "certified");
  const groups = [...grouped(lost, (row) => `${row.label}\n${row.status}\n${row.reason}`).values()].map((own) => ({
    contestant: own[0].label,
    status: own[0].status,
    reason: own[0].reason,
    count: own.length,
    example: own.map((row) => row.instance).sort(before)[0],
  }));
  return ordered(groups, (g) => -g.count, (g) => g.contestant, (g) => g.status, (g) => g.reason);
}

function originOf(rows) {
  const filled = (values) => unique(values).filter((value) => value !== "");
  return {
    machines: filled(rows.map((row) => row.machine)),
    versions: filled(rows.flatMap((row) => row.versions)),
    days: filled(rows.map((row) => row.started.slice(0, 10))),
    commits: filled(rows.map((row) => row.commit.slice(0, 12))),
    threads: unique(rows.map((row) => row.threads)),
  };
}

function summaryOf(rows, trials, claims) {
  const tasks = [...byTask(trials).values()];
  return {
    attempts: rows.length,
    trials: count(trials, (trial) => trial.tried),
    contestants: contestantsOf(trials).length,
    tasks: tasks.length,
    certified_tasks: count(tasks, (met) => [...met.values()].some((trial) => trial.success)),
    claims: total(claims.map((record) => record.claims)),
    true_claims: total(claims.map((record) => record.true_claims)),
    violations: total(claims.map((record) => record.violations)),
  };
}

/** Every number of the page, under the names that `discreet report --json` uses. */
function numbersOf(rows) {
  const trials = trialsOf(rows);
  const claims = claimRecords(rows);
  const means = meansOf(trials);
  return {
    summary: summaryOf(rows, trials, claims),
    claims,
    leaks: claimedLeaks(rows),
    sweeps: sweepsOf(trials, means.noise_floor),
    work_precision: workPrecision(trials),
    performance: performanceProfiles(trials),
    data: dataProfiles(trials),
    means,
    agreement: agreementOf(rows),
    failures: failureGroups(rows),
    origin: originOf(rows),
  };
}

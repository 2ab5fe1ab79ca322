// The statistics of discreet.reports.statistics once more, so that they follow the filters. Tests hold the two together.
// A row is one attempt, a trial the repeats of one contestant on one task; undefined numbers are Infinity, as there.
"use strict";
const Stats = (() => {
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const ascending = (values) => [...values].sort((a, b) => a - b);
  const groupBy = (items, key) => {
    const found = new Map();
    for (const item of items) {
      const name = key(item);
      if (!found.has(name)) found.set(name, []);
      found.get(name).push(item);
    }
    return found;
  };
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const median = (values) => percentile(values, 50);
  function percentile(values, percent) {
    const sorted = ascending(values);
    const place = ((sorted.length - 1) * percent) / 100;
    const below = Math.floor(place), above = Math.ceil(place);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
  }

  // -- trials ---------------------------------------------------------------------------------------------------------
  function trials(rows) {
    const made = [...groupBy(rows, (row) => `${row.task}|${row.who}`).values()].map((own) => {
      const success = own.every((row) => row.certified);
      const seconds = median(own.map((row) => row.seconds));
      return {
        task: own[0].task, about: own[0].about, who: own[0].who, rows: own, success, seconds,
        tried: !own.some((row) => row.untried), cost: success ? seconds : Infinity,
        limit: Math.max(...own.map((row) => row.limit)),
        timings: own.flatMap((row) => row.timings).filter((time) => time > 0 && time < Infinity),
      };
    });
    return made.sort((a, b) => a.task - b.task || compare(a.who, b.who));
  }
  const contestants = (found) => [...new Set(found.filter((trial) => trial.tried).map((trial) => trial.who))].sort(compare);
  const byTask = (found) => groupBy(found.filter((trial) => trial.tried), (trial) => trial.task);

  // -- claims ---------------------------------------------------------------------------------------------------------
  function claimRecords(rows) {
    const tried = groupBy(rows.filter((row) => !row.untried), (row) => row.who);
    return [...tried.keys()].sort(compare).map((who) => {
      const own = tried.get(who), solved = own.filter((row) => row.claim === "solved");
      const ratios = solved.filter((row) => row.answered && row.finite).map((row) => row.ratio);
      const right = solved.filter((row) => row.certified).length;
      return {
        who, attempts: own.length, claims: solved.length, right,
        rate: solved.length ? right / solved.length : NaN,
        violations: solved.filter((row) => row.violated).length,
        worst: ratios.length ? Math.max(...ratios) : NaN,
        unclaimed: own.filter((row) => row.certified).length - right,
      };
    });
  }
  const claimedLeaks = (rows) => rows.filter((row) => row.answered && row.finite && row.claim === "solved");

  // -- growth ---------------------------------------------------------------------------------------------------------
  function seriesBySize(found, size, cost = "seconds") {
    const table = new Map();
    for (const trial of found) {
      const place = trial.about[size];
      const known = trial.rows.map((row) => row.bytes).filter((bytes) => bytes !== null);
      const value = cost === "seconds" ? trial.seconds : known.length ? median(known) : null;
      if (!trial.success || !(place > 0) || !(value > 0)) continue;
      if (!table.has(trial.who)) table.set(trial.who, new Map());
      const own = table.get(trial.who);
      own.set(place, [...(own.get(place) || []), value]);
    }
    return [...table.keys()].sort(compare).map((who) => {
      const sizes = ascending(table.get(who).keys());
      return { who, sizes, costs: sizes.map((at) => median(table.get(who).get(at))) };
    });
  }
  function fitExponent(series, student) {
    const floor = Math.min(...series.costs);
    let start = series.costs.length;
    while (start > 0 && series.costs[start - 1] >= 2 * floor) start -= 1;
    const x = series.sizes.slice(start).map(Math.log), y = series.costs.slice(start).map(Math.log);
    if (x.length < 3) return null;
    const mx = sum(x) / x.length, my = sum(y) / y.length;
    const spread = sum(x.map((value) => (value - mx) ** 2));
    const slope = sum(x.map((value, k) => (value - mx) * (y[k] - my))) / spread;
    const free = x.length - 2;
    const residual = sum(x.map((value, k) => (y[k] - my - slope * (value - mx)) ** 2));
    const reach = student[Math.min(free, student.length) - 1] * Math.sqrt(residual / free / spread);
    return {
      who: series.who, exponent: slope, low: slope - reach, high: slope + reach, factor: Math.exp(my - slope * mx),
      points: x.length, from: series.sizes[start], to: series.sizes[series.sizes.length - 1],
    };
  }
  function crossovers(all, noise = 1) {
    const found = [], least = Math.log(Math.max(noise, 1));
    all.forEach((one, k) => all.slice(k + 1).forEach((other) => {
      const others = new Map(other.sizes.map((size, j) => [size, other.costs[j]]));
      const clear = one.sizes.map((size, j) => [Math.log(size), Math.log(one.costs[j] / others.get(size))])
        .filter(([, lead]) => Math.abs(lead) > least);
      for (let j = 1; j < clear.length; j += 1) {
        const [[x, before], [y, after]] = [clear[j - 1], clear[j]];
        if (before * after >= 0) continue;
        const [faster, slower] = after < 0 ? [one, other] : [other, one];
        found.push({ faster: faster.who, slower: slower.who, size: Math.exp(x + ((y - x) * before) / (before - after)) });
      }
    }));
    return found;
  }

  // -- profiles -------------------------------------------------------------------------------------------------------
  function profile(who, values, tasks) {
    const finite = ascending(values.filter(Number.isFinite));
    const at = [...new Set(finite)];
    return { who, at, shares: at.map((value) => finite.filter((other) => other <= value).length / tasks), tasks };
  }
  function performanceProfiles(found) {
    const best = new Map();
    for (const [task, met] of byTask(found)) best.set(task, Math.min(...met.map((trial) => trial.cost)));
    const solved = [...best.values()].filter(Number.isFinite).length;
    return contestants(found).map((who) => {
      const own = found.filter((trial) => trial.tried && trial.who === who && Number.isFinite(best.get(trial.task)));
      return profile(who, own.map((trial) => ratio(trial.cost, best.get(trial.task))), solved);
    });
  }
  const ratio = (cost, best) => (cost === best ? 1 : best > 0 ? cost / best : Infinity);
  function dataProfiles(found) {
    const tasks = byTask(found).size;
    return contestants(found).map((who) =>
      profile(who, found.filter((trial) => trial.tried && trial.who === who).map((trial) => trial.cost), tasks));
  }
  function workPrecision(found) {
    return found.filter((trial) => trial.tried && trial.rows.every((row) => row.answered && !row.violated))
      .map((trial) => ({ trial, achieved: Math.max(...trial.rows.map((row) => row.gap)), seconds: trial.seconds }));
  }

  // -- means ----------------------------------------------------------------------------------------------------------
  function shifted(values, shift) {
    if (shift > Math.max(...values)) {
      return shift * Math.expm1(sum(values.map((value) => Math.log1p(value / shift))) / values.length);
    }
    return Math.exp(sum(values.map((value) => Math.log(Math.max(value + shift, 2.2250738585072014e-308)))) / values.length) - shift;
  }
  function random(seed, counter) { // mulberry32 as a function of a counter
    const a = (seed + Math.imul(counter + 1, 0x6d2b79f5)) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  }
  function interval(values, shift, seed, resamples) {
    if (!values.length) return [NaN, NaN];
    const data = ascending(values), size = data.length, large = shift > data[size - 1];
    const logs = data.map((value) =>
      large ? Math.log1p(value / shift) : Math.log(Math.max(value + shift, 2.2250738585072014e-308)));
    const drawn = new Array(resamples);
    for (let k = 0; k < resamples; k += 1) {
      let total = 0;
      for (let j = 0; j < size; j += 1) total += logs[Math.floor((random(seed, k * size + j) / 4294967296) * size)];
      drawn[k] = large ? shift * Math.expm1(total / size) : Math.exp(total / size) - shift;
    }
    return [Math.max(percentile(drawn, 2.5), data[0]), Math.min(percentile(drawn, 97.5), data[size - 1])];
  }
  function fittingShift(found, percent) {
    const times = found.filter((trial) => trial.success).map((trial) => trial.seconds);
    return times.length ? percentile(times, percent) : 0;
  }
  function mean(who, penalty, values, failures, shift, options) {
    if (!values.length) return { who, penalty, tasks: 0, failures, seconds: NaN, low: NaN, high: NaN, shift };
    const [low, high] = interval(values, shift, options.seed, options.resamples);
    const seconds = Math.min(Math.max(shifted(values, shift), Math.min(...values)), Math.max(...values));
    return { who, penalty, tasks: values.length, failures, seconds, low: Math.min(low, seconds), high: Math.max(high, seconds), shift };
  }
  function means(found, options) {
    const shift = fittingShift(found, options.percentile), table = byTask(found), names = contestants(found);
    const shared = [...table.values()].filter((met) => met.length === names.length && met.every((trial) => trial.success));
    const charged = (trial, k) =>
      trial.success ? trial.seconds : k * Math.max(Number.isFinite(trial.limit) ? trial.limit : 0, trial.seconds);
    return names.flatMap((who) => {
      const own = found.filter((trial) => trial.tried && trial.who === who);
      const failures = own.filter((trial) => !trial.success).length;
      const common = shared.map((met) => met.find((trial) => trial.who === who).seconds);
      return [...options.penalties.map((k) => mean(who, k, own.map((trial) => charged(trial, k)), failures, shift, options)),
        mean(who, null, common, 0, shift, options)];
    });
  }
  function noiseFloor(found) {
    const ratios = found.filter((trial) => trial.success && trial.timings.length >= 2).map((trial) => {
      const one = median(trial.timings.filter((_, k) => k % 2 === 0));
      const other = median(trial.timings.filter((_, k) => k % 2 === 1));
      return Math.max(one, other) / Math.min(one, other);
    });
    return ratios.length ? percentile(ratios, 95) : NaN;
  }

  // -- agreement and failures -----------------------------------------------------------------------------------------
  function agreement(rows, allowed) {
    const best = new Map();
    for (const row of rows) {
      if (!row.answered) continue;
      const key = `${row.about.problem}|${row.who}`, before = best.get(key);
      best.set(key, {
        problem: row.about.problem, who: row.who, perfect: row.about.regime === "perfect",
        lower: Math.max(row.lower, before ? before.lower : -Infinity), upper: Math.min(row.upper, before ? before.upper : Infinity),
      });
    }
    const pairs = new Map();
    let met = 0, touching = 0, against = 0;
    for (const brackets of groupBy([...best.values()], (bracket) => bracket.problem).values()) {
      brackets.sort((a, b) => compare(a.who, b.who));
      brackets.forEach((one, k) => brackets.slice(k + 1).forEach((other) => {
        const low = Math.max(one.lower, other.lower), high = Math.min(one.upper, other.upper);
        const agree = low <= high + (one.perfect ? allowed : 0);
        met += 1;
        if (!agree) against += 1;
        else if (low > high) touching += 1;
        const key = `${one.who}|${other.who}`;
        const pair = pairs.get(key) || { cases: 0, agreeing: 0, difference: 0 };
        pair.cases += 1;
        pair.agreeing += agree ? 1 : 0;
        pair.difference = Math.max(pair.difference, Math.abs(one.upper - other.upper));
        pairs.set(key, pair);
      }));
    }
    return { names: [...new Set([...best.values()].map((bracket) => bracket.who))].sort(compare), pairs, met, touching, against };
  }
  function failures(rows) {
    const found = groupBy(rows.filter((row) => !row.certified), (row) => `${row.who}|${row.status}|${row.reason}`);
    return [...found.values()].map((own) => ({
      who: own[0].who, status: own[0].status, reason: own[0].reason, count: own.length,
      example: own.map((row) => row.about.instance).sort(compare)[0],
    })).sort((a, b) => b.count - a.count || compare(a.who, b.who) || compare(a.status, b.status) || compare(a.reason, b.reason));
  }

  return {
    agreement, byTask, claimRecords, claimedLeaks, contestants, crossovers, dataProfiles, failures, fitExponent, groupBy, means,
    noiseFloor, percentile, performanceProfiles, seriesBySize, trials, workPrecision,
  };
})();

"use strict";
/* Checks a certificate: a problem file and a solution file, described in docs/reference/files.md.

   check(problem, solution) takes the bytes of two .npz files and says what is proven of the
   solution. Nothing that a file says about itself is believed. Every stored number is taken
   exactly, as a whole number times a power of two; sums and products are whole numbers (BigInt)
   and fractions of them. Logarithms and exponentials are enclosed between two whole numbers over
   2^p, and p is doubled until the question is decided. What is shown is rounded outwards. It shares
   nothing with the Python package but the files and the theorems of docs/theory.md (3, 5 and 22).

   Letters: n private values, m guesses, N outcomes; a = p_xz, L = loss, t = tilt, μ = multiplier,
   P = estimator, ε = budget, π = prior, u = joint law of private value and guess. */

const refuse = (words) => { throw new Error(words); };

// -- fractions {n, d} with d > 0

const gcd = (a, b) => {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
};
const frac = (n, d = 1n) => {
  const g = d < 0n ? -gcd(n, d) : gcd(n, d);
  return { n: n / g, d: d / g };
};
const ZERO = frac(0n);
const ONE = frac(1n);
const add = (x, y) => frac(x.n * y.d + y.n * x.d, x.d * y.d);
const sub = (x, y) => frac(x.n * y.d - y.n * x.d, x.d * y.d);
const mul = (x, y) => frac(x.n * y.n, x.d * y.d);
const div = (x, y) => frac(x.n * y.d, x.d * y.n);
const less = (x, y) => x.n * y.d < y.n * x.d;
const equal = (x, y) => x.n === y.n && x.d === y.d;
const larger = (x, y) => (less(x, y) ? y : x);
const smaller = (x, y) => (less(x, y) ? x : y);
const positive = (x) => larger(x, ZERO);
const largest = (values) => values.reduce(larger);
const total = (values) => values.reduce(add, ZERO);
const dot = (x, y) => total(x.map((each, k) => mul(each, y[k])));

// -- doubles, exactly

const view = new DataView(new ArrayBuffer(8));

/** A double is whole · 2^exponent. */
function exactly(x) {
  if (!Number.isFinite(x)) refuse("a number is not finite");
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const high = Number((bits >> 52n) & 0x7ffn);
  const low = bits & 0xfffffffffffffn;
  const whole = high ? low | (1n << 52n) : low;
  return { whole: x < 0 ? -whole : whole, exponent: Math.max(high, 1) - 1075 };
}

const power = (k) => (k < 0 ? frac(1n, 1n << BigInt(-k)) : frac(1n << BigInt(k)));
const fraction = (x) => mul(frac(exactly(x).whole), power(exactly(x).exponent));

/** The same doubles as whole numbers of 2^-bits. */
function inCommonUnit(rows) {
  const parts = rows.map((row) => row.map(exactly));
  const bits = parts.flat().reduce((x, y) => (y.whole ? Math.max(x, -y.exponent) : x), 52);
  const whole = parts.map((row) => row.map((x) => x.whole << BigInt(x.exponent + bits)));
  return { whole, bits: BigInt(bits) };
}

const length = (x) => x.toString(2).length;
const zeros = (rows, columns) => Array.from({ length: rows }, () => new Array(columns).fill(0));
const range = (count) => Array.from({ length: count }, (_, k) => k);
const added = (numbers) => numbers.reduce((x, y) => x + y);
const sumOf = (numbers) => numbers.reduce((x, y) => x + y, 0n);

/** The largest double ≤ x, or with `up` the smallest ≥ x. */
function rounded(x, up) {
  if (x.n < 0n) return -rounded({ n: -x.n, d: x.d }, !up);
  if (x.n === 0n) return 0;
  let exponent = Math.max(length(x.n) - length(x.d) - 53, -1074);
  if (!less(div(x, power(exponent)), power(53))) exponent += 1;
  if (exponent > 971) return up ? Infinity : Number.MAX_VALUE;
  const { n, d } = div(x, power(exponent)); // n/d < 2^53
  return Number(n / d + (up && n % d ? 1n : 0n)) * 2 ** exponent;
}

const outward = (low, high) => [rounded(low, false), rounded(high, true)];

function nearest(x) {
  const [low, high] = outward(x, x);
  const [below, above] = [sub(x, fraction(low)), sub(fraction(high), x)];
  if (!equal(below, above)) return less(below, above) ? low : high;
  return exactly(low).whole % 2n ? high : low;
}

// -- logarithms and exponentials, between [low, high] over 2^p

const GUARD = 40n; // more bits inside, so that roundings are small outside
const above = (x, bits) => -(-x >> bits);
const below = (x, d) => (x >= 0n ? x / d : -((d - 1n - x) / d));
const plus = ([a, b], [c, d]) => [a + c, b + d];

/** 2 atanh(n/d) over 2^q for 0 ≤ n/d ≤ 1/3, with its error. */
function twiceAtanh(n, d, q) {
  const z = (n << q) / d;
  const square = (z * z) >> q;
  let power = z;
  let sum = 0n;
  let odd = 1n;
  for (; power; odd += 2n, power = (power * square) >> q) sum += power / odd;
  return [2n * sum, 8n * odd + 16n]; // each term is short by at most 4 units, and so is the rest
}

/** log x of a fraction x > 0. */
function log(x, p) {
  const q = BigInt(p) + GUARD;
  const shift = BigInt(length(x.n) - length(x.d));
  const n = shift < 0n ? x.n << -shift : x.n;
  const d = shift > 0n ? x.d << shift : x.d; // 1/2 < n/d < 2
  const up = n >= d;
  const [value, error] = twiceAtanh(up ? n - d : d - n, n + d, q);
  const [two, doubt] = twiceAtanh(1n, 3n, q);
  const size = shift < 0n ? -shift : shift;
  const middle = (up ? value : -value) + shift * two;
  const radius = error + size * doubt;
  return [(middle - radius) >> GUARD, above(middle + radius, GUARD)];
}

/** At least e^y of a fraction y. */
function expAbove(y, p) {
  if (less(y, frac(BigInt(-2 * p)))) return 1n;
  const q = BigInt(p) + GUARD;
  const [two, doubt] = twiceAtanh(1n, 3n, q);
  const whole = (y.n << q) / y.d; // within one unit
  const shift = whole / two;
  const rest = whole - shift * two; // |rest| < log 2
  const off = (shift < 0n ? -shift : shift) * doubt + 2n; // the error of rest
  let sum = 0n;
  let k = 0n;
  for (let term = 1n << q; term; term = (term * rest) / (k << q)) {
    sum += term;
    k += 1n;
  }
  const high = sum + 3n * (off + k + 1n);
  return above(high << (shift > 0n ? shift : 0n), GUARD - (shift < 0n ? shift : 0n));
}

const over = (x, p) => frac(x, 1n << BigInt(p));

// -- measures of leakage: a guess with joint masses u, s = Σ u, about the prior π

const FINE = 2048; // bits for bounds
const descending = (t) => t.map((_, j) => j).sort((i, j) => (less(t[i], t[j]) ? 1 : -1));
const ratios = (u, prior) => u.map((mass, j) => div(mass, prior[j]));

/** The least κ with Σ_j w_j (y_j − κ)₊ ≤ volume. */
function waterLevel(weights, heights, volume) {
  let mass = ZERO;
  let filled = sub(ZERO, volume);
  const levels = descending(heights).map((j) => {
    mass = add(mass, weights[j]);
    filled = add(filled, mul(weights[j], heights[j]));
    return div(filled, mass);
  });
  return largest(levels);
}

/** At least μ log Σ_j π_j e^{t_j/μ}; the largest t has the power 1. */
function logMeanExp(t, prior, mu) {
  const top = largest(t);
  const powers = t.map((x) => over(expAbove(div(sub(x, top), mu), FINE), FINE));
  const [, high] = log(dot(prior, powers), FINE);
  return add(top, mul(mu, over(high, FINE)));
}

function informationOf(u, prior, p) {
  const s = total(u);
  const terms = u.map((mass, j) => {
    if (!mass.n) return [0n, 0n];
    const [low, high] = log(div(mass, mul(prior[j], s)), p);
    return [below(low * mass.n, mass.d), -below(-high * mass.n, mass.d)];
  });
  return terms.reduce(plus);
}

/** The largest t·q of laws q ≤ (1 + B) π. */
function liftShift(t, prior, level) {
  let left = ONE;
  let value = ZERO;
  for (const j of descending(t)) {
    const taken = smaller(left, mul(add(ONE, level), prior[j]));
    left = sub(left, taken);
    value = add(value, mul(taken, t[j]));
  }
  return value;
}

/** The same for laws whose ratios q/π differ by a factor of 1 + B at most. */
function ratioShift(t, prior, level) {
  let gained = dot(prior, t);
  let mass = ONE;
  const means = descending(t).map((j) => {
    mass = add(mass, mul(level, prior[j]));
    gained = add(gained, mul(mul(level, prior[j]), t[j]));
    return div(gained, mass);
  });
  return larger(dot(prior, t), largest(means));
}

/* bounds     "sum": Σ_i g(u_i) ≤ B; "each": max_i g(u_i) ≤ B; "posterior": max_i g(u_i)/s_i ≤ B
   logarithm  B = e^ε − 1, else B = ε
   g          (u, π, p) → a fraction, an interval over 2^p, or Infinity
   shift      (t, π, μ or B) → κ such that the tilt t − κ is feasible */
const most = (u, prior) => largest(ratios(u, prior));
const least = (u, prior) => ratios(u, prior).reduce(smaller);
const excess = (u, prior) => sub(most(u, prior), total(u));
const INFORMATION = { bounds: "sum", g: informationOf, shift: logMeanExp };
const MEASURES = {
  "mutual-information": INFORMATION,
  "conditional-mutual-information": { ...INFORMATION, groups: true },
  "total-variation": {
    bounds: "sum",
    g: (u, prior) => total(u.map((x, j) => positive(sub(x, mul(prior[j], total(u)))))),
    shift: (t, prior, mu) => dot(prior, t.map((x) => larger(x, sub(largest(t), mu)))),
  },
  "maximal-leakage": {
    bounds: "sum",
    logarithm: true,
    g: excess,
    shift: (t, prior, mu) => waterLevel(prior, t.map((x) => add(x, mu)), mu),
  },
  "parity-difference": { bounds: "each", g: (u, prior) => sub(most(u, prior), least(u, prior)) },
  "max-lift": { bounds: "posterior", logarithm: true, g: excess, shift: liftShift },
  "local-differential-privacy": {
    bounds: "posterior",
    logarithm: true,
    g: (u, prior) =>
      least(u, prior).n ? mul(total(u), sub(div(most(u, prior), least(u, prior)), ONE)) : Infinity,
    shift: ratioShift,
  },
};

/** What the guesses reveal: an interval of doubles, and whether it is at most the budget. */
function leakage(measure, groups, budget) {
  const limit = Number.isFinite(budget) ? fraction(budget) : null;
  const laws = groups.flatMap(({ law, prior }) =>
    law.filter((u) => u.some((x) => x.n)).map((u) => ({ u, prior })),
  );
  const independent = laws.every(({ u, prior }) =>
    u.every((x, j) => equal(x, mul(prior[j], total(u)))),
  );
  if (independent) return { leaks: [0, 0], kept: true };
  for (let p = 128; ; p *= 2) {
    let values = laws.map(({ u, prior }) => measure.g(u, prior, p));
    if (values.includes(Infinity)) return { leaks: [Infinity, Infinity], kept: limit === null };
    if (measure.bounds === "posterior") values = values.map((x, k) => div(x, total(laws[k].u)));
    const interval = Array.isArray(values[0]);
    let level = values.reduce(measure.bounds !== "sum" ? larger : interval ? plus : add);
    if (!interval && (!measure.logarithm || !level.n)) {
      return { leaks: outward(level, level), kept: limit === null || !less(limit, level) };
    }
    if (!interval) level = log(add(ONE, level), p);
    const [low, high] = level.map((x) => positive(over(x, p)));
    const kept = limit === null || !less(limit, high) ? true : less(limit, low) ? false : null;
    const fine = kept !== null && less(mul(sub(high, low), frac(1n << 60n)), high);
    if (fine || p === 16384) return { leaks: outward(low, high), kept };
  }
}

/** By how much each row of the tilt is lowered, in each group; what the budget costs. Or null. */
function feasible(measure, groups, multiplier, budget) {
  const lowered = (shift) =>
    groups.map(({ tilt, prior }) => tilt.map((t) => rounded(shift(t, prior), true)));
  const mean = (t, prior) => dot(prior, t);
  const free = measure.logarithm ? budget > 4096 : budget === Infinity;
  if (budget === 0) return { shifts: lowered(mean), cost: ZERO };
  if (free || (measure.bounds === "sum" && multiplier === 0)) {
    return { shifts: lowered((t) => largest(t)), cost: ZERO };
  }
  const exact = fraction(budget);
  const B = measure.logarithm ? sub(over(expAbove(exact, FINE), FINE), ONE) : exact;
  if (measure.bounds === "posterior") {
    return { shifts: lowered((t, prior) => measure.shift(t, prior, B)), cost: ZERO };
  }
  if (measure.bounds === "each") {
    const shifts = lowered(mean);
    const prices = groups.flatMap(({ tilt, prior }, g) =>
      tilt.map((t, i) => dot(prior, t.map((x) => positive(sub(x, fraction(shifts[g][i])))))),
    );
    return { shifts, cost: mul(total(prices), B) };
  }
  if (multiplier === Infinity) return null;
  const mu = fraction(multiplier);
  const shifts = lowered((t, prior) => measure.shift(t, prior, mu));
  return { shifts, cost: mul(mu, B) };
}

// -- files: .npz, a zip of .npy members

/** The members of an .npz: name → {shape, values}, or a text. */
async function membersOf(file) {
  const bytes = new Uint8Array(file);
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - 22;
  if (end < 0 || data.getUint32(end, true) !== 0x06054b50) refuse("a file is no .npz file");
  const members = new Map();
  let at = data.getUint32(end + 16, true);
  for (let count = data.getUint16(end + 10, true); count; count -= 1) {
    const half = (place) => data.getUint16(place, true);
    const word = (place) => data.getUint32(place, true);
    if (word(at) !== 0x02014b50) refuse("a file is damaged");
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + half(at + 28)));
    const local = word(at + 42);
    const start = local + 30 + half(local + 26) + half(local + 28);
    let content = bytes.slice(start, start + word(at + 20));
    if (half(at + 10) === 8) {
      const unpacking = new DecompressionStream("deflate-raw");
      const unpacked = new Response(new Blob([content]).stream().pipeThrough(unpacking));
      content = new Uint8Array(await unpacked.arrayBuffer());
    }
    const key = name.replace(/\.npy$/, "");
    if (content.length !== word(at + 24) || members.has(key)) refuse(`${key} is damaged`);
    members.set(key, arrayOf(key, content));
    at += 46 + half(at + 28) + half(at + 30) + half(at + 32);
  }
  return members;
}

/** A text, or a shape and the doubles (float64, int64) in C order. */
function arrayOf(name, bytes) {
  const data = new DataView(bytes.buffer);
  if (data.getUint32(0) !== 0x934e554d) refuse(`${name} is no .npy array`);
  const start = bytes[6] > 1 ? 12 + data.getUint32(8, true) : 10 + data.getUint16(8, true);
  const header = new TextDecoder().decode(bytes.subarray(10, start));
  const type = /'descr': *'<([fiU])(\d+)'/.exec(header);
  const shape = (/'shape': *\(([\d, ]*)\)/.exec(header)?.[1].match(/\d+/g) ?? []).map(Number);
  const count = shape.reduce((x, y) => x * y, 1);
  const content = bytes.slice(start).buffer;
  if (type?.[1] === "U" && count === 1) {
    const letters = Array.from(new Uint32Array(content), (code) => String.fromCodePoint(code));
    return letters.join("").replace(/\0+$/, "");
  }
  const Numbers = { f8: Float64Array, i8: BigInt64Array }[type?.[1] + type?.[2]];
  if (!Numbers || content.byteLength !== 8 * count) return {}; // refused where it is needed
  const stored = Array.from(new Numbers(content), Number);
  if (!/'fortran_order': *True/.test(header) || shape.length < 2) return { shape, values: stored };
  if (shape.length > 2) refuse(`${name} is in Fortran order`);
  const [rows, columns] = shape;
  const values = stored.map((_, k) => stored[(k % columns) * rows + Math.floor(k / columns)]);
  return { shape, values };
}

/** The rows of a member of this shape, or zeros where there is none; a single number is a row. */
function rowsOf(members, name, rows, columns, least = -1e200, most = 1e200) {
  if (!members.has(name)) return zeros(rows, columns);
  const { shape = [], values = [] } = members.get(name);
  const given = [...(shape.length < 2 ? [1] : []), ...shape, ...(shape.length ? [] : [1])];
  if (`${given}` !== `${[rows, columns]}`) refuse(`${name} is not of shape [${rows}, ${columns}]`);
  if (!values.every((x) => x >= least && x <= most)) refuse(`${name} has an entry out of range`);
  return range(rows).map((i) => values.slice(i * columns, (i + 1) * columns));
}

// -- the problem and the solution

const TOLERANCE = 1e-9;
const json = (text) => JSON.parse(text.replace(/\bInfinity\b/g, "1e999"));

function checkVersion(members) {
  const version = members.get("version")?.values[0] ?? 1;
  if (version !== 1) refuse(`a file has version ${version}; only version 1 is checked here`);
}

function problemOf(members) {
  checkVersion(members);
  const [name, other] = members.has("joint") ? ["joint", "p_xz"] : ["p_xz", "loss"];
  const shape = members.get(name)?.shape ?? [];
  const [n, m, N] = name === "joint" ? shape : [shape[0], members.get(other)?.shape[0], shape[1]];
  if (!n || !m || !N) refuse("the problem needs joint [n, m, N], or p_xz [n, N] and loss [m, N]");
  let a;
  let losses;
  if (name === "joint") {
    members.get(name).shape = [n * m, N];
    const p = rowsOf(members, name, n * m, N, 0);
    const sum = (rows) => range(N).map((l) => rows.reduce((x, row) => x + row[l], 0));
    a = range(n).map((j) => sum(p.slice(j * m, (j + 1) * m)));
    const q = range(m).map((i) => sum(p.filter((_, row) => row % m === i)));
    losses = range(m).map((i) => sum(q.filter((_, k) => k !== i)));
  } else {
    a = rowsOf(members, "p_xz", n, N, 0);
    losses = rowsOf(members, "loss", m, N, 0);
  }
  let stated = [{ measure: "mutual-information", budget: members.get("budget")?.values[0] }];
  if (members.has("constraint")) stated = [json(members.get("constraint"))].flat();
  if (members.has("constraint") && members.has("budget")) refuse("the problem has two budgets");
  let start = 0;
  const terms = stated.map(({ measure, budget, groups = [n] }) => {
    if (!(budget >= 0)) refuse("the problem has no budget ≥ 0");
    const sized = groups.map((size) => {
      start += size;
      return range(size).map((j) => start - size + j);
    });
    if (groups.length > 1 && !MEASURES[measure]?.groups) refuse("groups are wrong");
    return { name: measure, measure: MEASURES[measure], budget, groups: sized, rows: sized.flat() };
  });
  if (!terms.length || start !== n) refuse("the groups are not the rows of p_xz");
  // Sums that are not 1 but for rounding are divided out, in doubles.
  const first = inCommonUnit(a);
  const by = terms.map(({ rows }) => {
    const sum = nearest(frac(sumOf(rows.flatMap((j) => first.whole[j])), 1n << first.bits));
    return Math.abs(sum - 1) > 2 ** -50 && Math.abs(sum - 1) <= TOLERANCE ? sum : 1;
  });
  terms.forEach(({ rows }, k) => rows.forEach((j) => (a[j] = a[j].map((x) => x / by[k]))));
  losses = losses.map((row) => row.map((x) => x / by[0]));
  const { whole, bits } = inCommonUnit([...a, ...losses]);
  const totals = whole.map(sumOf);
  for (const term of terms) {
    term.sum = sumOf(term.rows.map((j) => totals[j]));
    const away = sub(frac(term.sum, 1n << bits), ONE);
    if (less(fraction(TOLERANCE), larger(away, sub(ZERO, away)))) refuse("masses do not sum to 1");
  }
  return { n, m, N, terms, whole, totals };
}

/** The joint masses of the guess with X and, below, with the loss, [m, n + m] whole numbers. */
function lawOf(members, { m, N, whole }) {
  if (!members.has("estimator")) refuse("there is no estimator; rules are not checked here");
  const P = rowsOf(members, "estimator", m, N);
  const exact = json(members.get("exact_columns") ?? "{}");
  const columns = range(N).map((l) => P.map((row, i) => (l in exact ? Number(i === 0) : row[l])));
  const { whole: weights, bits } = inCommonUnit(columns);
  columns.forEach((column, l) => {
    const valid = Math.abs(added(column) - 1) <= TOLERANCE && column.every((x) => x >= 0);
    if (!valid) refuse(`the probabilities of the guesses at outcome ${l} do not sum to 1`);
    const first = column.indexOf(Math.max(...column)); // gets what the others leave
    weights[l][first] += (1n << bits) - sumOf(weights[l]);
  });
  const sums = columns.map(() => 1n << bits);
  for (const [l, texts] of Object.entries(exact)) {
    weights[l] = texts.map((text) => BigInt(text));
    sums[l] = sumOf(weights[l]);
    const valid = l in columns && weights[l].length === m && weights[l].every((w) => w >= 0n);
    if (!valid || !sums[l]) refuse("exact_columns is damaged");
  }
  const scale = [...new Set(sums)].reduce((x, y) => (x / gcd(x, y)) * y);
  const drawn = (row, i) => sumOf(row.map((x, l) => x * weights[l][i] * (scale / sums[l])));
  return { law: range(m).map((i) => whole.map((row) => drawn(row, i))), scale };
}

/** Σ_l min_i (L_il + Σ_j (t_ij − κ_ij) a_jl) / τ of the first constraint. */
function leastLoss({ whole, n, m, N, terms }, tilt, shifts) {
  const { whole: weights, bits } = inCommonUnit([...tilt, ...shifts]);
  const slopes = tilt.map((row, i) => row.map((_, j) => weights[i][j] - weights[m + i][j]));
  const loss = (i, l) => whole[n + i][l] << bits;
  const tilted = (i, l) => slopes[i].reduce((x, w, j) => x + w * whole[j][l], loss(i, l));
  const chosen = (l) => range(m).map((i) => tilted(i, l)).reduce((x, y) => (y < x ? y : x));
  return frac(sumOf(range(N).map(chosen)), terms[0].sum << bits);
}

/** What is proven of a solution of a problem, from the bytes of their files. */
async function check(problemFile, solutionFile) {
  const problem = problemOf(await membersOf(problemFile));
  const members = await membersOf(solutionFile);
  checkVersion(members);
  const unknown = problem.terms.filter(({ measure }) => !measure).map(({ name }) => name);
  if (unknown.length) return { unknown };
  const { n, m, totals, terms } = problem;
  const { law, scale } = lawOf(members, problem);
  const tilt = rowsOf(members, "tilt", m, n);
  const [multipliers] = rowsOf(members, "multiplier", 1, terms.length, 0, Infinity);
  if (multipliers.some((x) => x > 1e200 && x < Infinity)) refuse("a multiplier is out of range");
  const shifts = zeros(m, n);
  let cost = ZERO;
  terms.forEach((term, k) => {
    const possible = term.groups.map((rows) => rows.filter((j) => totals[j]));
    const groups = possible.filter((rows) => rows.length).map((rows) => ({
      rows,
      law: law.map((row) => rows.map((j) => frac(row[j], scale * term.sum))),
      prior: rows.map((j) => frac(totals[j], sumOf(rows.map((r) => totals[r])))),
      tilt: tilt.map((row) => rows.map((j) => fraction(row[j]))),
    }));
    Object.assign(term, leakage(term.measure, groups, term.budget));
    const duals = cost && feasible(term.measure, groups, multipliers[k], term.budget);
    cost = duals && add(cost, mul(duals.cost, frac(term.sum, terms[0].sum)));
    groups.forEach(({ rows }, g) =>
      rows.forEach((j) => duals && shifts.forEach((row, i) => (row[j] = duals.shifts[g][i]))),
    );
  });
  const lower = cost ? positive(sub(leastLoss(problem, tilt, shifts), cost)) : ZERO;
  const error = frac(sumOf(range(m).map((i) => law[i][n + i])), scale * terms[0].sum);
  const constant = range(m).map((i) => frac(totals[n + i], terms[0].sum)).reduce(smaller);
  const broken = terms.some((term) => term.kept === false);
  const kept = broken ? false : terms.every((term) => term.kept) || null; // null: not decided
  const claims = members.has("metadata") ? json(members.get("metadata")) : {};
  const bracket = [rounded(lower, false), rounded(kept ? error : constant, true)];
  const claimed = [claims.lower_bound, claims.upper_bound];
  const stated = claimed.every((x) => typeof x === "number");
  const holds = kept === true && stated && claimed[0] <= bracket[0] && bracket[1] <= claimed[1];
  const said = terms.map(({ name, budget, leaks, kept }) => ({ name, budget, leaks, kept }));
  const errors = outward(error, error);
  return { terms: said, error: errors, kept, bracket, claimed: stated && claimed, holds };
}

if (typeof module !== "undefined") module.exports = { check, expAbove, frac, log, rounded };

/* Scales and their ticks: from numbers to shares of an axis. */

/** A logarithmic scale over the values, which are positive; a little room at both ends, half a decade at least. */
function logScale(values, { most = 7, room = 0.06, low = null, high = null } = {}) {
  const logs = values.map(Math.log10);
  let [from, to] = [low === null ? Math.min(...logs) : Math.log10(low), high === null ? Math.max(...logs) : Math.log10(high)];
  if (to - from < 0.5) [from, to] = [(from + to) / 2 - 0.25, (from + to) / 2 + 0.25];
  const extra = room * (to - from);
  [from, to] = [low === null ? from - extra : from, high === null ? to + extra : to];
  const share = (value) => Math.min(1, Math.max(0, (Math.log10(value) - from) / (to - from)));
  return { share, ticks: (fit) => logTicks(from, to, Math.min(most, fit)) };
}

function logTicks(from, to, most) {
  const decades = [];
  for (let k = Math.ceil(from - 1e-9); k <= to + 1e-9; k += 1) decades.push(k);
  const stride = Math.ceil(decades.length / most);
  if (decades.length >= 3) return decades.filter((k) => k % stride === 0).map((k) => ({ at: 10 ** k, words: decadeWords(k) }));
  const places = [];
  const factors = to - from < 0.8 ? [1, 1.5, 2, 3, 4, 5, 7] : [1, 2, 5];
  for (let k = Math.floor(from); k <= to; k += 1) places.push(...factors.map((factor) => Number(`${factor}e${k}`)));
  return places
    .filter((at) => Math.log10(at) >= from - 1e-9 && Math.log10(at) <= to + 1e-9)
    .map((at) => ({ at, words: figures(at, 2) }));
}

const decadeWords = (k) => (k >= -3 && k <= 3 ? figures(10 ** k, 4) : power(k));

/** Shares of tasks: 0 … 100 %. */
const shareScale = () => ({
  share: (value) => value / 1.04,
  ticks: () => [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, words: `${100 * at} %` })),
});

/** Places 0 … n − 1 with words of their own. */
function placeScale(words) {
  const last = Math.max(words.length - 1, 1);
  return {
    share: (value) => (words.length === 1 ? 0.5 : 0.03 + (0.94 * value) / last),
    ticks: (fit) => {
      const stride = Math.ceil(words.length / Math.max(fit, 1));
      return words.map((each, at) => ({ at, words: each })).filter(({ at }) => at % stride === 0);
    },
  };
}

/* The random numbers of the bootstrap, draw for draw those of numpy's default_rng: PCG64 (XSL-RR, 128 bits) and Lemire's
   bounded integers of 32 bits. The state after seeding travels with the page.
   Sources: M. O'Neill, "PCG" (2014); D. Lemire, "Fast Random Integer Generation in an Interval" (2019). */

const MULTIPLIER = 47026247687942121848144207491837523525n;
const WORD = 0xffffffffffffffffn;

/** The stream of 32-bit numbers of a generator, drawn when needed and kept: every bootstrap starts at its beginning. */
function streamOf(seeded) {
  let state = BigInt(seeded.state);
  const step = BigInt(seeded.inc);
  const drawn = [];
  return (k) => {
    while (drawn.length <= k) {
      state = BigInt.asUintN(128, state * MULTIPLIER + step);
      const mixed = (state >> 64n) ^ (state & WORD);
      const turn = state >> 122n;
      const out = BigInt.asUintN(64, (mixed >> turn) | (mixed << ((64n - turn) & 63n)));
      drawn.push(Number(out & 0xffffffffn), Number(out >> 32n));
    }
    return drawn[k];
  };
}

/** `count` whole numbers in [0, size), as Generator.integers gives them from the start of the stream. */
function bounded(stream, size, count) {
  const picks = new Uint32Array(count);
  if (size < 2) return picks;
  const threshold = (4294967296 - size) % size;
  let place = 0;
  for (let k = 0; k < count; k += 1) {
    let low;
    let high;
    do {
      // 32 × 32 bits exceed what a double holds: the product in two halves
      const word = stream(place);
      place += 1;
      const bottom = (word & 0xffff) * size;
      const top = (word >>> 16) * size + Math.floor(bottom / 65536);
      low = ((top & 0xffff) * 65536 + (bottom % 65536)) % 4294967296;
      high = Math.floor(top / 65536);
    } while (low < threshold);
    picks[k] = high;
  }
  return picks;
}

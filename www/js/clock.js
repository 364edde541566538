// The clock: what it can tell apart here, and how long a timing sample must therefore be.

/** A timing sample is at least this many clock steps, so that reading the clock errs by a thousandth at most. */
export const STEPS_PER_SAMPLE = 1000;

/** A shorter sample would also measure the call itself. */
const SHORTEST_SAMPLE_NS = 1e6;

/** Nanoseconds since the page or worker began. */
export const now = () => performance.now() * 1e6;

/**
 * The smallest non-zero step, over several readings: one reading that was interrupted looks too long.
 * @returns {number} nanoseconds
 */
export function clockStep() {
  let smallest = Infinity;
  for (let reading = 0; reading < 20; reading++) {
    const start = performance.now();
    let next = start;
    while (next === start) next = performance.now();
    smallest = Math.min(smallest, next - start);
  }
  // The difference of two readings carries the rounding of their sum; a picosecond is below it.
  return Math.round(smallest * 1e9) / 1e3;
}

/** How long a timing sample must be for a clock of this step, in nanoseconds. */
export const sampleLength = (step) => Math.max(STEPS_PER_SAMPLE * step, SHORTEST_SAMPLE_NS);

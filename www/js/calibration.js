// Finds out whether wasm runs unoptimised: one chain of steps, in wasm and in JavaScript.

/* The same chain as `spin` in src/web/measure.rs. */
function chain(steps) {
  let a = 1, b = 2, c = 3, d = 4;
  for (let step = 0; step < steps; step++) {
    a = (a + (b ^ step)) | 0;
    b = (((b << 7) | (b >>> 25)) + c) | 0;
    c ^= (d + a) | 0;
    d = ((d << 13) | (d >>> 19)) ^ b;
  }
  return (a ^ b ^ c ^ d) >>> 0;
}

const STEPS = 400_000;
const ROUNDS = 12;

/**
 * Time in wasm over time in JavaScript, the fastest of several rounds of each: about 1 where both are
 * optimised.
 */
export function unoptimisedRatio(kernel) {
  if (chain(1000) !== kernel.spin(1000) >>> 0) throw new Error('the calibration chain differs between wasm and JavaScript');
  const fastest = (run) => {
    const start = performance.now();
    run(STEPS);
    return performance.now() - start;
  };
  let wasm = Infinity, script = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    wasm = Math.min(wasm, fastest(kernel.spin));
    script = Math.min(script, fastest(chain));
  }
  return wasm / script;
}

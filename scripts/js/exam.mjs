// Workloads of known shares for V8's own sampler: `node --cpu-prof scripts/js/exam.mjs CASE MILLISECONDS [WASM]`.
// `light` and `heavy` do the same work for one call; heavy is called three times as often, so its share is three
// times as large. Prints what each call costs where neither is sampled (they are timed alone first).

import { readFileSync } from 'node:fs';

const [, , which, millis, file] = process.argv;
const STEPS = 400;

// The bodies differ in their constants alone, so that no engine can merge them.
function light(x) {
  let a = x | 0;
  for (let i = 0; i < STEPS; i++) a = (Math.imul(a ^ (a >>> 13), 0x5bd1e995) + i) | 0;
  return a;
}

function heavy(x) {
  let a = x | 0;
  for (let i = 0; i < STEPS; i++) a = (Math.imul(a ^ (a >>> 15), 0x27d4eb2d) + i) | 0;
  return a;
}

function javascript() {
  return {
    light,
    heavy,
    mixed: function mixed(rounds, x) {
      for (let i = 0; i < rounds; i++) x = light(heavy(heavy(heavy(x))));
      return x;
    },
  };
}

function wasm() {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), {});
  return exports;
}

const body = which === 'wasm' ? wasm() : javascript();

/** CPU time of one call in nanoseconds: the least of several timings. */
function alone(call) {
  let least = Infinity;
  let x = 1;
  for (let sample = 0; sample < 30; sample++) {
    const from = process.cpuUsage();
    for (let i = 0; i < 2000; i++) x = call(x);
    const spent = process.cpuUsage(from);
    least = Math.min(least, ((spent.user + spent.system) * 1000) / 2000);
  }
  return [least, x];
}

const [lightNs, x] = alone((x) => body.light(x));
const [heavyNs, y] = alone((x) => body.heavy(x));
let result = x ^ y;
const begin = process.cpuUsage();
let rounds = 0;
for (;;) {
  result = body.mixed(2000, result);
  rounds += 2000;
  const spent = process.cpuUsage(begin);
  if (spent.user + spent.system >= Number(millis) * 1000) break;
}
const spent = process.cpuUsage(begin);
console.log(
  JSON.stringify({ light_ns: lightNs, heavy_ns: heavyNs, rounds, cpu_ns: (spent.user + spent.system) * 1000, result }),
);

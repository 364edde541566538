// Times the field representations in wasm under Node: `node scripts/representations/node.mjs > wasm.json`.
// Prints an object of nanoseconds by row: the lower quartile over interleaved rounds, each output checked.
// The module comes from `cargo run -p web-build fields-plain`.

import { readFile } from 'node:fs/promises';

const at = (path) => new URL(`../../www/pkg/fields-plain/${path}`, import.meta.url);
const fields = await import(at('fields-plain.js').href);
fields.initSync({ module: await readFile(at('fields-plain_bg.wasm')) });

const ROUNDS = 60;
const SHORTEST = 2e6; // nanoseconds in one timing

const names = JSON.parse(fields.workloads())
  .map((row) => row.name)
  .filter((name) => /^field25519\/(ladder|sign|verify)\/[0-9x.]+(-symmetric|-peeled)?$/.test(name));
const rows = names.map((name) => ({ name, prepared: new fields.Prepared(name, 1), iterations: 1, times: [] }));

function time(row, first) {
  row.prepared.load(first, row.iterations);
  const start = process.hrtime.bigint();
  row.prepared.run();
  const elapsed = Number(process.hrtime.bigint() - start);
  row.prepared.unload();
  return elapsed;
}

for (const row of rows) {
  // Long enough for the optimising compiler to have finished, and for the clock not to matter.
  for (let spent = 0; spent < 2e8; ) {
    const elapsed = time(row, 0);
    spent += elapsed;
    if (elapsed < SHORTEST) row.iterations *= 2;
  }
}
for (let round = 0; round < ROUNDS; round++) {
  for (const row of [...rows].sort(() => Math.random() - 0.5)) {
    row.times.push(time(row, round * row.iterations) / row.iterations);
  }
}
const quartile = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 4)];
console.log(JSON.stringify(Object.fromEntries(rows.map((row) => [row.name, quartile(row.times)])), null, 2));

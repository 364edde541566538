// Times the wasm builds in turn with native code, and writes the tables of docs/WASM.md:
// node tests/browser/wasm-table.mjs NATIVE NATIVE-CHOSEN [ROUNDS]. Use scripts/wasm-table.

import { spawn, execFileSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';

import { launch, root, serve } from './harness.mjs';

const [native, chosen, rounds = '40'] = process.argv.slice(2);
const NAMES = [
  'x25519_dh', 'x25519_base', 'ed25519_keygen', 'ed25519_sign', 'ed25519_verify', 'sha256/1024', 'sha512/1024', 'hmac_sha256',
  'hkdf_sha256_expand', 'chacha20poly1305_seal/1024', 'aes128gcm_seal/1024',
];
const ALL_CHOICES = [
  ['kernel-wide', '64-bit limbs, wide arithmetic, simd128 (shipped)'],
  ['kernel-64-wide-scalar', '64-bit limbs, wide arithmetic'],
  ['kernel-64-simd', '64-bit limbs, simd128'],
  ['kernel-plain', '32-bit limbs, simd128 (shipped)'],
  ['kernel-32-scalar', '32-bit limbs'],
  ['kernel-32-small', '32-bit limbs, simd128, optimised for size'],
];
const built = ([module]) => existsSync(join(root, 'www/pkg', module, `${module}_bg.wasm`));
const CHOICES = ALL_CHOICES.filter(built);
for (const [module] of ALL_CHOICES.filter((choice) => !built(choice))) process.stderr.write(`left out, not built: ${module}\n`);
/** One quantum, in nanoseconds: 600 steps of an isolated page's clock, and short enough to pass undisturbed. */
const QUANTUM = 3e6;

const server = await serve();
const browser = await launch({ wide: true });
const page = await browser.newPage();
await page.goto(server.url);
await page.evaluate(async (modules) => {
  self.kernels = {};
  self.prepared = {};
  for (const name of modules) {
    const glue = await import(`/pkg/${name}/${name}.js`);
    await glue.default();
    self.kernels[name] = glue;
  }
  self.quantum = (module, name, first, count) => {
    const one = (self.prepared[`${module} ${name}`] ??= new self.kernels[module].Prepared(name, 1));
    one.load(first, count);
    const start = performance.now();
    one.run();
    const elapsed = performance.now() - start;
    one.unload();
    return elapsed * 1e6;
  };
}, CHOICES.map(([name]) => name));

/** A program that runs quanta on request: examples/quanta.rs. */
function nativeSubject(path) {
  const program = spawn(path, { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
  const quantum = async (name, first, count) => {
    program.stdin.write(`${name} ${first} ${count}\n`);
    return Number((await answers.next()).value);
  };
  return { quantum, stop: () => program.stdin.end() };
}
const natives = { native: nativeSubject(native), chosen: nativeSubject(chosen) };
const subjects = Object.fromEntries(Object.entries(natives).map(([name, { quantum }]) => [name, quantum]));
for (const [module] of CHOICES) {
  subjects[module] = (name, first, count) => page.evaluate(([m, n, f, c]) => self.quantum(m, n, f, c), [module, name, first, count]);
}

const costs = new Map();
const counts = new Map();
const key = (subject, name) => `${subject} ${name}`;
for (let round = 0; round <= Number(rounds); round++) {
  for (const name of NAMES) {
    for (const subject of shuffled(Object.keys(subjects))) {
      const count = counts.get(key(subject, name)) ?? 64;
      const elapsed = await subjects[subject](name, round * 4096, count);
      if (round === 0) {
        // The first round warms up and sizes the quanta.
        counts.set(key(subject, name), Math.max(1, Math.ceil((QUANTUM * count) / Math.max(elapsed, 1))));
        costs.set(key(subject, name), []);
      } else {
        costs.get(key(subject, name)).push(elapsed / count);
      }
    }
  }
  process.stderr.write(`round ${round} of ${rounds}\n`);
}
Object.values(natives).forEach(({ stop }) => stop());
const version = browser.version();
await browser.close();
server.stop();

function shuffled(items) {
  const all = [...items];
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [all[i], all[j]] = [all[j], all[i]];
  }
  return all;
}

// The fastest: other work on the machine only ever adds to a wall time. The same for native.
const cost = (subject, name) => Math.min(...costs.get(key(subject, name)));
const time = (ns) => (ns >= 1e5 ? `${Math.round(ns / 1e3)} µs` : ns >= 999.5 ? `${(ns / 1e3).toPrecision(3)} µs` : `${Math.round(ns)} ns`);
const ratio = (subject, name) => (cost(subject, name) / cost('native', name)).toFixed(2);
const table = (head, rows) => [head, head.map((_, at) => (at ? '---:' : '---')), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
const size = (module) => {
  const file = join(root, 'www/pkg', module, `${module}_bg.wasm`);
  return `${Math.round(statSync(file).size / 1000)} kB, ${Math.round(brotliCompressSync(readFileSync(file)).length / 1000)} kB brotli`;
};

const shipped = table(
  ['primitive', 'native, same baseline', 'native, chosen at run time', 'wasm, wide arithmetic', 'ratio', 'wasm without', 'ratio'],
  NAMES.map((name) => [
    `\`${name}\``, time(cost('native', name)), time(cost('chosen', name)), time(cost('kernel-wide', name)), ratio('kernel-wide', name), time(cost('kernel-plain', name)), ratio('kernel-plain', name),
  ]),
);
const columns = ['x25519_dh', 'x25519_base', 'ed25519_sign', 'ed25519_verify', 'sha512/1024'];
const choices = table(
  ['build', ...columns.map((name) => `\`${name}\``), 'size'],
  CHOICES.map(([module, label]) => [label, ...columns.map((name) => time(cost(module, name))), size(module)]),
);
const compiler = execFileSync('rustc', ['--version'], { encoding: 'utf8' }).trim();
const above = (subject, most) => NAMES.filter((name) => Number(ratio(subject, name)) > most).map((name) => `\`${name}\` (${ratio(subject, name)})`).join(', ') || 'none';
const verdict = `Above the aim of 1.1 with wide arithmetic: ${above('kernel-wide', 1.1)}. Above 2.0 without: ${above('kernel-plain', 2)}.`;
const measured = `Measured by \`scripts/wasm-table\`: the fastest of ${rounds} quanta of 3 ms, interleaved in random order, ${cpus()[0].model.trim()}, Chromium ${version}, ${compiler}. Ratios are to native code for the same baseline processor with serial field arithmetic, where nothing is chosen at run time. Native code is read in thread CPU time, wasm in wall time.`;

const file = join(root, 'docs/WASM.md');
const text = readFileSync(file, 'utf8');
const filled = [['ratios', `${shipped}\n\n${verdict}`], ['choices', choices], ['measured', measured]].reduce((all, [name, block]) => {
  const found = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`);
  if (!found.test(all)) throw new Error(`docs/WASM.md has no place for ${name}`);
  return all.replace(found, (_, before, behind) => `${before}${block}\n${behind}`);
}, text);
writeFileSync(file, filled);
console.log(`${measured}\n\n${shipped}\n\n${verdict}\n\n${choices}`);

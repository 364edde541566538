// The measuring worker: sets cells up, compares their outputs, times them in interleaved rounds. The page
// never waits for it, and it answers `cancel` between two quanta.

import { Cell, PartCell, SEED, SharedCell, WasmCell } from './cells.js';
import { clockStep, now, sampleLength, STEPS_PER_SAMPLE } from './clock.js';
import { flavours, load } from './engine.js';
import { javascript, webcrypto } from './runtimes.js';
import { recordOf } from './record.js';

/** The pool that every workload has; agreement compares a part of it for the slow runtimes. */
const POOL = 64;
const COMPARED = 8;

/** Fewer rounds give no interval of the median. */
const FEWEST_ROUNDS = 6;

/** @type {Cell[]} */
let cells = [];
let clock = { step: NaN, sample: NaN };
let cancelled = false;
/** The kernel, for its statistics. */
let kernel = null;

const post = (type, fields = {}) => self.postMessage({ type, ...fields });

/** Lets messages in: a promise alone would not. */
const breathe = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });

const handlers = {
  /** Loads the kernel and tells what can be run. */
  async start() {
    const [flavour] = flavours();
    if (!flavour) throw new Error('this browser has no WebAssembly vector instructions (simd128), which every build here needs');
    kernel = await load('kernel', flavour);
    post('ready', {
      workloads: JSON.parse(kernel.workloads()),
      vectors: JSON.parse(kernel.vectors()),
      step: measureClock().step,
      version: kernel.version(),
    });
  },

  async run({ module, names, compare, others, seconds }) {
    cancelled = false;
    measureClock();
    post('clock', { step: clock.step, sample: clock.sample });
    const began = Date.now();
    const end = now() + seconds * 1e9;
    cells = [];
    await firstRound(module, names, compare, others);
    const rounds = cancelled ? 0 : await furtherRounds(end, seconds);
    post('done', { cancelled, rounds, record: await recordOf(cells, clock, began, module) });
  },

  async operations({ names, seconds }) {
    cancelled = false;
    measureClock();
    const began = Date.now();
    const rounds = await operationRounds(names, seconds);
    post('done', { cancelled, rounds, record: await recordOf(cells, clock, began, 'operations') });
  },

  async cancel() {
    cancelled = true;
  },
};

self.onmessage = async ({ data }) => {
  try {
    await handlers[data.type](data);
  } catch (error) {
    post('failed', { message: String(error?.message ?? error) });
  }
};

function measureClock() {
  const step = clockStep();
  clock = { step, sample: sampleLength(step) };
  return clock;
}

const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/**
 * Sets every cell up, holds the outputs of all runtimes against each other, and only then takes a first
 * timing sample; workload by workload, so that figures appear from the top at once.
 */
async function firstRound(module, names, compare, others) {
  const builds = compare ? flavours() : flavours().slice(0, 1);
  const glues = await Promise.all(builds.map((flavour) => load(module, flavour)));
  const noble = others ? await import('../vendor/noble.js') : null;
  const workloads = new Map(JSON.parse(glues[0].workloads()).map((workload) => [workload.name, workload]));
  for (const name of names) {
    const workload = workloads.get(name);
    if (!workload || cancelled) continue;
    const row = builds.map((flavour, i) => new WasmCell(workload, glues[i], flavour));
    if (others) row.push(...sharedCells(glues[0], workload, noble));
    post('agreement', { name, ...(await agreement(row, glues[0], name)) });
    cells.push(...row);
    for (const cell of row.filter((cell) => !cell.error)) {
      await sampleOnce(cell);
      post('rows', { rows: [rowOf(cell)] });
      await breathe();
    }
  }
}

function sharedCells(glue, workload, noble) {
  const shared = JSON.parse(glue.shared_cases(workload.name, SEED));
  if (!shared) return [];
  const cases = { inputs: shared.inputs.map((inputs) => inputs.map(fromHex)), outputs: shared.outputs.map(fromHex) };
  return [webcrypto(workload.name), javascript(workload.name, noble)]
    .filter(Boolean)
    .map((maker) => new SharedCell(workload, maker.runtime, maker, cases));
}

/** Which runtimes computed the same; a runtime that cannot, or that differs, gets no figure. */
async function agreement(row, glue, name) {
  const agreeing = [];
  const absent = [];
  let expected = null;
  for (const cell of row) {
    try {
      await cell.prepare();
      if (cell instanceof SharedCell) {
        await cell.agrees(COMPARED);
      } else {
        const digest = cell.digest(POOL);
        expected ??= cell.workload.kind === 'primitive' ? sharedDigest(glue, name) ?? digest : digest;
        if (digest !== expected) throw new Error(`${cell.implementation}: the outputs of ${name} differ`);
      }
      agreeing.push(cell.runtime);
    } catch (error) {
      cell.error = String(error?.message ?? error);
      absent.push({ runtime: cell.runtime, differs: /differ/.test(cell.error), message: cell.error });
    }
  }
  return { agreeing, absent };
}

function sharedDigest(glue, name) {
  try {
    return glue.shared_digest(name, SEED);
  } catch {
    return null;
  }
}

/** Rounds in random order until the time is used, at least as many as an interval needs. */
async function furtherRounds(end, seconds) {
  let rounds = 1;
  while (!cancelled && (rounds < FEWEST_ROUNDS || now() < end)) {
    const live = shuffled(cells.filter((cell) => !cell.error));
    for (const cell of live) {
      if (cancelled) return rounds;
      await sampleOnce(cell);
      await breathe();
      const byTime = 1 - (end - now()) / (seconds * 1e9);
      const share = Math.min(byTime, cell.samples.length / FEWEST_ROUNDS);
      post('progress', { share: Math.min(1, Math.max(0, share)), rounds });
    }
    rounds += 1;
    post('rows', { rows: live.map(rowOf) });
  }
  return rounds;
}

/** Predictions first: every part of every operation alone; then parts and operations in turn. */
async function operationRounds(names, seconds) {
  const [flavour] = flavours();
  const glue = await load('operations', flavour);
  const workloads = new Map(JSON.parse(glue.workloads()).map((workload) => [workload.name, workload]));
  const parts = [];
  cells = [];
  for (const name of names) {
    const workload = workloads.get(name);
    if (!workload || cancelled) continue;
    const whole = new WasmCell(workload, glue, flavour);
    cells.push(whole);
    const made = new glue.Parts(name, SEED);
    const listed = JSON.parse(made.primitives()).map(([primitive, count, alone]) => ({ primitive, count, alone, p50: null }));
    post('parts', { name, parts: listed });
    listed.forEach((part, at) => part.alone && parts.push(new PartCell(workload, glue, flavour, made, at, part)));
    await breathe();
  }
  const end = now() + seconds * 1e9;
  let rounds = 0;
  while (!cancelled && (rounds < FEWEST_ROUNDS || now() < end)) {
    const turn = rounds === 0 ? [...parts, ...cells] : shuffled([...parts, ...cells]);
    for (const [done, cell] of turn.entries()) {
      if (cancelled) return rounds;
      if (!cell.error) {
        if (!(cell instanceof PartCell) && !cell.prepared) await cell.prepare();
        await sampleOnce(cell);
        if (rounds === 0) tell(cell);
      }
      await breathe();
      const share = Math.min(1 - (end - now()) / (seconds * 1e9), (rounds + done / turn.length) / FEWEST_ROUNDS);
      const doing = rounds > 0 ? `Round ${rounds + 1}: parts and operations in random order` : cell instanceof PartCell ? `Predicting ${cell.workload.name}` : `Measuring ${cell.workload.name}`;
      post('progress', { share: Math.min(1, Math.max(0, share)), doing });
    }
    rounds += 1;
    turn.forEach(tell);
  }
  return rounds;
}

function tell(cell) {
  const row = rowOf(cell);
  const { name } = cell.workload;
  if (cell instanceof PartCell) post('predicted', { name, at: cell.at, p50: row.p50 ?? null });
  else post('measured', { name, row });
}

/** One timing sample, long enough for the clock; the first call of all is kept apart as the cold one. */
async function sampleOnce(cell) {
  try {
    if (cell.cold === null) {
      cell.cold = await cell.quantum(1);
      await calibrate(cell);
    }
    const elapsed = await cell.quantum(cell.iterations);
    cell.samples.push({ iterations: cell.iterations, ns: elapsed });
  } catch (error) {
    cell.error = String(error?.message ?? error);
  }
}

/** Grows the batch until its time can be told, then sizes it to the sample length. */
async function calibrate(cell) {
  let count = 1;
  for (;;) {
    const elapsed = await cell.quantum(count);
    if (elapsed >= clock.sample / 8) {
      const per = elapsed / count;
      cell.iterations = per >= clock.step * STEPS_PER_SAMPLE ? 1 : Math.max(1, Math.ceil(clock.sample / per));
      return;
    }
    count *= elapsed > 0 ? Math.min(16, Math.max(2, Math.ceil(clock.sample / 4 / elapsed))) : 16;
    if (count > 2 ** 24) throw new Error('takes no time that this clock can tell');
  }
}

function shuffled(items) {
  const all = [...items];
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [all[i], all[j]] = [all[j], all[i]];
  }
  return all;
}

/** What the page shows of a cell, in nanoseconds per iteration. */
function rowOf(cell) {
  const { workload, runtime, implementation, flavour, iterations, error, key } = cell;
  const row = { key, name: workload.name, kind: workload.kind, runtime, implementation, flavour, iterations, error };
  if (error || cell.samples.length === 0) return row;
  const values = Float64Array.from(cell.samples, (sample) => sample.ns / sample.iterations);
  const summary = JSON.parse(kernel.summary(values));
  // A batch's mean hides its tail.
  if (iterations > 1) summary.p90 = summary.p99 = null;
  // A single call is shorter than the sample; a tenth is as much as a cold figure can promise.
  const cold = cell.cold >= 10 * clock.step ? cell.cold : null;
  return { ...row, ...summary, cold };
}

// A mix of primitives whose true shares are known, run on the page's own thread in slices, so that the
// page stays alive and the browser's sampler, which sees this thread only, has something to sample.

import { SEED } from './cells.js';
import { clockStep, now } from './clock.js';
import { flavours, load } from './engine.js';

/** Calls per mix. Chosen so that shares differ and none is small. */
export const MIX = { x25519_dh: 3, x25519_base: 4, ed25519_sign: 6, ed25519_verify: 2 };

/** Frames of each primitive as they are named in a profile of the module. */
const FRAMES = {
  x25519_dh: '*primitive::x25519::dh*',
  x25519_base: '*primitive::x25519::base*',
  ed25519_sign: '*primitive::ed25519::sign*',
  ed25519_verify: '*primitive::ed25519::verify*',
};

/** The one JavaScript function that every sample of the mix lies under. */
export const SCOPE = 'mixSlice';

/** A slice must not keep the page from drawing. */
const SLICE_NS = 12e6;

const breathe = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Each primitive is timed alone so often before the mix. */
const ROUNDS_ALONE = 9;

/* Named, and with nothing but the bodies in it: this is what the sampler must see. */
function mixSlice(prepared) {
  prepared.run();
}

/* The same outside the mix. */
function aloneSlice(prepared) {
  prepared.run();
}

/**
 * Runs the mix for some seconds.
 * @returns {Promise<object>} what is known of it without a sampler: an explanation as the tool reads it
 */
export async function runMix(seconds, { progress, cancelled }) {
  const kernel = await load('kernel', flavours()[0]);
  const step = clockStep();
  const names = Object.keys(MIX);
  const cells = names.map((name) => ({ name, prepared: new kernel.Prepared(name, SEED), next: 0, alone: [], slices: [] }));
  const run = (slice, cell, count) => {
    cell.prepared.load(cell.next, count);
    cell.next += count;
    const start = now();
    slice(cell.prepared);
    const elapsed = now() - start;
    cell.prepared.unload();
    return elapsed;
  };

  // The cost of one call alone, before the mix and outside its function.
  for (let round = 0; round < ROUNDS_ALONE; round++) {
    for (const cell of cells) {
      const last = cell.alone[cell.alone.length - 1];
      const count = last ? Math.max(1, Math.ceil(Math.max(2e6, 200 * step) / last)) : 16;
      cell.alone.push(run(aloneSlice, cell, count) / count);
      await breathe();
    }
  }

  const whole = cells.reduce((sum, cell) => sum + quartile(cell.alone) * MIX[cell.name], 0);
  const mixes = Math.max(1, Math.round(SLICE_NS / whole));
  const end = now() + seconds * 1e9;
  while (now() < end && !cancelled()) {
    for (const cell of cells) cell.slices.push(run(mixSlice, cell, MIX[cell.name] * mixes) / mixes);
    progress(1 - (end - now()) / (seconds * 1e9));
    await breathe();
  }
  for (const cell of cells) cell.prepared.free();

  const primitives = cells.map(({ name, alone, slices }) => {
    const inPlace = estimate(slices);
    return {
      primitive: name,
      count: MIX[name],
      nested: [],
      // The mix is nothing but slices of one primitive each, so the clock around them prices a call.
      unit_cost_ns: scaled(inPlace, 1 / MIX[name]),
      cost_band_ns: null,
      predicted_ns: inPlace,
      dose_ns: null,
      replay_ns: null,
      trace_ns: inPlace,
      frames: [{ glob: FRAMES[name] }],
      alone_ns: quartile(alone),
    };
  });
  return {
    operation: 'mix',
    time_ns: { point: primitives.reduce((sum, one) => sum + one.predicted_ns.point, 0), low: null, high: null },
    primitives,
    dose_all_ns: null,
    replay_all_ns: null,
    // Nothing was dosed or replayed: the reference is the model.
    causal_valid: true,
    warnings: [],
  };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Other work on the machine only ever adds to a wall time: the lower quartile hardly feels it. */
const quartile = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 4)];

/** The mean, because a sampler's shares are of all the time that passed, slow moments included. */
function estimate(values) {
  const point = mean(values);
  if (values.length < 3) return { point, low: null, high: null };
  const error = Math.sqrt(values.reduce((sum, value) => sum + (value - point) ** 2, 0) / (values.length - 1) / values.length);
  return { point, low: point - 2 * error, high: point + 2 * error };
}

const scaled = ({ point, low, high }, factor) => ({ point: point * factor, low: low && low * factor, high: high && high * factor });

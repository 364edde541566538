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

/** After so many turns of the mix, each primitive is timed alone once more. */
const TURNS_BETWEEN = 4;

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
  const cells = names.map((name) => ({ name, prepared: new kernel.Prepared(name, SEED), next: 0, total: 0, alone: [] }));
  const run = (slice, cell, count) => {
    cell.prepared.load(cell.next, count);
    cell.next += count;
    const start = now();
    slice(cell.prepared);
    const elapsed = now() - start;
    cell.prepared.unload();
    return elapsed;
  };

  // The cost of one call alone is timed in turn with the mix, so that whatever slows the machine slows both.
  const alone = async (cell) => {
    const last = cell.alone[cell.alone.length - 1];
    const count = last ? Math.max(1, Math.ceil(Math.max(2e6, 200 * step) / last)) : 16;
    cell.alone.push(run(aloneSlice, cell, count) / count);
    await breathe();
  };
  for (let round = 0; round < 3; round++) for (const cell of cells) await alone(cell);
  for (const cell of cells) cell.alone.shift();

  const whole = cells.reduce((sum, cell) => sum + mean(cell.alone) * MIX[cell.name], 0);
  const mixes = Math.max(1, Math.round(SLICE_NS / whole));
  const end = now() + seconds * 1e9;
  let turns = 0;
  for (let turn = 0; now() < end && !cancelled(); turn++) {
    for (const cell of cells) {
      cell.total += run(mixSlice, cell, MIX[cell.name] * mixes);
    }
    turns += mixes;
    if (turn % TURNS_BETWEEN === 0) for (const cell of cells) await alone(cell);
    progress(1 - (end - now()) / (seconds * 1e9));
    await breathe();
  }
  for (const cell of cells) cell.prepared.free();

  // Means, because the sampler's shares are of all the time that passed, slow moments included.
  const estimate = (values) => {
    const point = mean(values);
    const error = Math.sqrt(values.reduce((sum, value) => sum + (value - point) ** 2, 0) / (values.length - 1) / values.length);
    return { point, low: point - 2 * error, high: point + 2 * error };
  };
  const scaled = ({ point, low, high }, factor) => ({ point: point * factor, low: low * factor, high: high * factor });
  const primitives = cells.map((cell) => {
    const cost = estimate(cell.alone);
    return {
      primitive: cell.name,
      count: MIX[cell.name],
      nested: [],
      unit_cost_ns: cost,
      cost_band_ns: null,
      predicted_ns: scaled(cost, MIX[cell.name]),
      dose_ns: null,
      replay_ns: null,
      trace_ns: { point: cell.total / Math.max(1, turns), low: null, high: null },
      frames: [{ glob: FRAMES[cell.name] }],
    };
  });
  return {
    operation: 'mix',
    time_ns: { point: cells.reduce((sum, cell) => sum + cell.total, 0) / Math.max(1, turns), low: null, high: null },
    primitives,
    dose_all_ns: null,
    replay_all_ns: null,
    // Nothing was dosed or replayed: the reference is the model.
    causal_valid: true,
    warnings: [],
  };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

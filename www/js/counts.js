// Op counts of operations: counted once, outside any clock.

import { SEED } from './cells.js';
import { flavours, load } from './engine.js';

/** @returns {Promise<Record<string, [string, number][]>>} calls of each primitive per operation */
export async function countOperations(names) {
  const operations = await load('operations', flavours()[0]);
  const counts = {};
  for (const name of names) {
    const prepared = new operations.Prepared(name, SEED);
    prepared.load(0, 1);
    counts[name] = JSON.parse(prepared.count());
    prepared.free();
  }
  return counts;
}

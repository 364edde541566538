// One cell: a workload in one runtime, set up to be run in quanta. All runtimes get the same inputs and
// every output is checked outside the clock.

import { now } from './clock.js';
import { FLAVOURS } from './engine.js';

/** Names of the runtimes as they stand in a record. */
export const WASM = 'browser-wasm';
export const WEBCRYPTO = 'webcrypto';
export const JAVASCRIPT = 'browser-js';

/** The seed of every input; the same on the command line, so that outputs can be compared. */
export const SEED = 1;

export class Cell {
  /**
   * @param {{name: string, family: string, kind: string, parameter: number | null}} workload
   * @param {string} runtime
   * @param {string} implementation
   * @param {string} flavour empty for a runtime without builds
   */
  constructor(workload, runtime, implementation, flavour = '') {
    Object.assign(this, { workload, runtime, implementation, flavour });
    this.key = [workload.name, runtime, flavour].join('|');
    this.next = 0;
    this.iterations = 1;
    this.samples = [];
    this.cold = null;
    this.error = null;
  }

  /** Indices of the next quantum. They wrap long before they leave 32 bits; inputs repeat by pool anyway. */
  advance(count) {
    const first = this.next;
    this.next = first + count > 2 ** 31 ? 0 : first + count;
    return first;
  }
}

/** A workload of one of our modules. */
export class WasmCell extends Cell {
  constructor(workload, glue, flavour) {
    super(workload, WASM, `${workload.implementation}, ${FLAVOURS[flavour]}`, flavour);
    this.glue = glue;
  }

  async prepare() {
    this.prepared = new this.glue.Prepared(this.workload.name, SEED);
  }

  /** @returns {Promise<number>} nanoseconds */
  async quantum(count) {
    this.prepared.load(this.advance(count), count);
    const start = now();
    this.prepared.run();
    const elapsed = now() - start;
    this.prepared.unload();
    return elapsed;
  }

  /** The digest of the outputs of one whole pool. */
  digest(pool) {
    this.prepared.load(0, pool);
    this.prepared.run();
    return this.prepared.unload();
  }
}

/** All calls of one primitive within an operation, alone on the inputs that the operation gave them. */
export class PartCell extends Cell {
  constructor(workload, glue, flavour, parts, at, { primitive }) {
    super(workload, WASM, FLAVOURS[flavour], flavour);
    this.key += `|${primitive}`;
    Object.assign(this, { parts, at });
  }

  async quantum(count) {
    const start = now();
    this.parts.run(this.at, count);
    return now() - start;
  }
}

/** A function of JavaScript or of the browser over the pool that the wasm workload has. */
export class SharedCell extends Cell {
  /**
   * @param {object} maker how to make the call: see runtimes.js
   * @param {{inputs: Uint8Array[][], outputs: Uint8Array[]}} cases
   */
  constructor(workload, runtime, maker, cases) {
    super(workload, runtime, maker.implementation);
    this.maker = maker;
    this.cases = cases;
  }

  async prepare() {
    this.calls = [];
    for (const inputs of this.cases.inputs) this.calls.push(await this.maker.call(...inputs));
  }

  async quantum(count) {
    const { calls } = this;
    const first = this.advance(count);
    const outputs = new Array(count);
    let at = first % calls.length;
    let elapsed;
    if (this.maker.asynchronous) {
      const start = now();
      for (let i = 0; i < count; i++) {
        outputs[i] = await calls[at]();
        if (++at === calls.length) at = 0;
      }
      elapsed = now() - start;
    } else {
      const start = now();
      for (let i = 0; i < count; i++) {
        outputs[i] = calls[at]();
        if (++at === calls.length) at = 0;
      }
      elapsed = now() - start;
    }
    outputs.forEach((output, i) => this.check((first + i) % calls.length, output));
    return elapsed;
  }

  /** Runs the first cases outside the clock and compares every byte. */
  async agrees(count) {
    for (let i = 0; i < count; i++) this.check(i, await this.calls[i]());
  }

  check(index, output) {
    const expected = this.cases.outputs[index];
    const got = output === true ? [1] : output === false ? [0] : output instanceof ArrayBuffer ? new Uint8Array(output) : output;
    if (got.length !== expected.length || !expected.every((byte, i) => byte === got[i])) {
      throw new Error(`${this.implementation}: output ${index} of ${this.workload.name} differs`);
    }
  }
}

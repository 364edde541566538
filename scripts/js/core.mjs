// Times primitives in a JavaScript engine, for Node and for a browser, and emits the lines of the runners'
// protocol (scripts/jvm/README.md). Three runtimes: wasm, the engine's WebCrypto, and pure JavaScript (noble).

const QUANTUM_MS = 60;
const STABLE_QUANTA = 3;
const STABLE_WITHIN = 0.03;
const POOL = 64;
/** No row takes longer than this and four times its budget, however busy the machine is. */
const ROW_LIMIT_MS = 20_000;

const DIGEST_START = 0xcbf29ce484222325n;
const DIGEST_PRIME = 0x100000001b3n;
const MASK = 0xffffffffffffffffn;

function fold(hash, word) {
  const product = ((hash ^ word) * DIGEST_PRIME) & MASK;
  return product ^ (product >> 32n);
}

/** FNV-1a over 8-byte words, the last padded with its length. */
function fingerprint(bytes) {
  const words = Math.floor(bytes.length / 8);
  const rest = bytes.length - 8 * words;
  const padded = new Uint8Array(8 * words + 8);
  padded.set(bytes);
  padded[8 * words + 7] = rest;
  const view = new DataView(padded.buffer);
  let hash = DIGEST_START;
  for (let at = 0; at <= words; at++) hash = fold(hash, view.getBigUint64(8 * at, true));
  return hash;
}

/** The digest of outputs in order, as every runtime makes it. */
function digest(outputs) {
  const all = outputs.reduce((hash, output) => fold(fold(hash, fingerprint(output)), 0n), 0n);
  return all.toString(16).padStart(16, '0');
}

function toBytes(output) {
  if (typeof output === 'boolean') return Uint8Array.of(output ? 1 : 0);
  return output instanceof ArrayBuffer ? new Uint8Array(output) : output;
}

const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** A row's body as `batch(n)`, which times n calls and resolves to [iterations, cpu ns, wall ns]. */
function wasmBody(kernel, name, seed, clock) {
  const prepared = new kernel.Prepared(name, seed);
  prepared.load(0, POOL);
  prepared.run();
  const outputs = prepared.unload();
  let next = 0;
  const batch = async (n) => {
    prepared.load(next, n);
    next = (next + n) % 1_000_000;
    const from = clock();
    prepared.run();
    const to = clock();
    prepared.unload();
    return [n, to[0] - from[0], to[1] - from[1]];
  };
  return { outputs, batch, free: () => prepared.free() };
}

async function callsBody(kernel, name, seed, clock, { call, asynchronous }) {
  const cases = JSON.parse(kernel.shared_cases(name, seed));
  const calls = [];
  for (const inputs of cases.inputs) calls.push(await call(...inputs.map(fromHex)));
  const outputs = [];
  for (const one of calls) outputs.push(toBytes(await one()));
  let next = 0;
  const batch = async (n) => {
    const from = clock();
    for (let i = 0; i < n; i++) {
      const one = calls[next];
      next = next + 1 === calls.length ? 0 : next + 1;
      if (asynchronous) await one();
      else one();
    }
    const to = clock();
    return [n, to[0] - from[0], to[1] - from[1]];
  };
  return { outputs: digest(outputs), batch, free: () => {} };
}

/** Warms up until three quanta agree, choosing the batch so that a sample lasts `sampleMs`. */
async function warmUp(batch, sampleMs, limitMs) {
  let n = 1;
  let quanta = 0;
  let iterations = 0;
  const medians = [];
  const begin = performance.now();
  while (performance.now() - begin < limitMs) {
    const until = performance.now() + QUANTUM_MS;
    const each = [];
    do {
      const [count, cpu] = await batch(n);
      iterations += count;
      each.push(cpu / count);
    } while (performance.now() < until);
    quanta += 1;
    const wanted = Math.max(1, Math.min(50_000, Math.ceil((sampleMs * 1e6) / Math.max(1, median(each)))));
    if (wanted > 2 * n || n > 2 * wanted) {
      n = wanted;
      medians.length = 0;
      continue;
    }
    medians.push(median(each));
    if (medians.length > STABLE_QUANTA) medians.shift();
    if (medians.length === STABLE_QUANTA && Math.max(...medians) <= Math.min(...medians) * (1 + STABLE_WITHIN)) {
      return { n, quanta, iterations, stable: true };
    }
  }
  return { n, quanta, iterations, stable: false };
}

/**
 * Times every row on every runtime asked for.
 * @param {object} plan `names`, `seed`, `millis` a row, `sampleMs`, `runtimes` (names), `only` for the order's seed
 * @param {object} parts `kernel` (wasm module), `noble`, `entries` (the page's runtimes.js), `clock` → [cpu ns, wall ns], `emit`
 */
export async function measure(plan, { kernel, noble, entries, clock, emit }) {
  const rows = plan.runtimes.flatMap((runtime) => plan.names.map((name) => ({ runtime, name })));
  for (let i = rows.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [rows[i], rows[j]] = [rows[j], rows[i]];
  }
  const implementations = new Map(JSON.parse(kernel.workloads()).map((w) => [w.name, w.implementation]));
  for (const { runtime, name } of rows) {
    try {
      let body;
      let implementation;
      if (runtime === 'wasm') {
        body = wasmBody(kernel, name, plan.seed, clock);
        implementation = implementations.get(name);
      } else {
        const entry = runtime === 'webcrypto' ? entries.webcrypto(name) : entries.javascript(name, noble);
        if (!entry) {
          emit({ type: 'skip', runtime, name, message: `${runtime} has no ${name}` });
          continue;
        }
        body = await callsBody(kernel, name, plan.seed, clock, entry);
        implementation = entry.implementation;
      }
      const warm = await warmUp(body.batch, plan.sampleMs, 3000);
      const samples = [];
      // The budget is time on the clock, so that a busy machine gives as many samples as a quiet one.
      const begin = performance.now();
      let spent = 0;
      const limit = ROW_LIMIT_MS + 4 * plan.millis;
      while ((spent < plan.millis * 1e6 || samples.length < 8) && (samples.length < 8 || performance.now() - begin < limit)) {
        const sample = (await body.batch(warm.n)).map(Math.round);
        spent += sample[1];
        samples.push(sample);
      }
      body.free();
      emit({
        type: 'row',
        runtime,
        name,
        implementation,
        warm_iterations: warm.iterations,
        warm_quanta: warm.quanta,
        warm_stable: warm.stable,
        pool: POOL,
        outputs: body.outputs,
        samples,
      });
    } catch (error) {
      emit({ type: 'error', runtime, name, message: String(error?.message ?? error) });
    }
  }
}

// The record of a run, as the command line writes and reads it.

import { SEED } from './cells.js';
import { engine, flavours, load } from './engine.js';

/** @returns {Promise<string>} JSON text that went through the reader of records */
export async function recordOf(cells, clock, began, module) {
  const kernel = await load('kernel', flavours()[0]);
  const { wide, simd } = engine();
  const whole = (ns) => Math.max(0, Math.round(ns));
  const record = {
    schema_version: kernel.schema_version(),
    tool: { name: 'countercheck', version: kernel.version(), commit: null },
    started_at: Math.floor(began / 1000),
    environment: {
      platform: 'browser-wasm32',
      cpu_features: [],
      cores: navigator.hardwareConcurrency ?? null,
      compiler: null,
      optimisation: 'opt-level 3',
      facts: {
        user_agent: navigator.userAgent,
        cross_origin_isolated: String(self.crossOriginIsolated),
        clock: 'performance.now, wall time',
        wide_arithmetic: String(wide),
        simd128: String(simd),
        module,
      },
    },
    clocks: [{ step_ns: whole(clock.step), empty_ns: 0, wall_step_ns: whole(clock.step) }],
    seed: SEED,
    rows: cells.map((cell, position) => ({
      name: cell.workload.name,
      family: cell.workload.family,
      kind: cell.workload.kind,
      parameter: cell.workload.parameter,
      variant: 'throughput',
      runtime: cell.runtime,
      implementation: cell.implementation,
      processes: cell.samples.length
        ? [
            {
              process: 0,
              position,
              // A browser has no clock of thread CPU time: both are wall time, as the fact above says.
              samples: cell.samples.map(({ iterations, ns }) => [iterations, whole(ns), whole(ns)]),
              allocation: 'not_measured',
            },
          ]
        : [],
      error: cell.error,
    })),
    warnings: [
      {
        code: 'one-process',
        message: 'A page is one process: intervals show the spread within it, not between runs.',
        remedy: 'Load the page anew and run again before trusting a small difference.',
      },
    ],
  };
  return kernel.record(JSON.stringify(record));
}

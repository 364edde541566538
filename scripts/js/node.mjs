// The Node runner: `node scripts/js/node.mjs '{"names":[…],"seed":1,"millis":200,"runtimes":["wasm","noble"],"www":"…"}'`.
// Prints the lines of the runners' protocol, one JSON object each.

import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { measure } from './core.mjs';

const plan = JSON.parse(process.argv[2]);
const at = (path) => pathToFileURL(`${plan.www}/${path}`).href;
const emit = (line) => process.stdout.write(JSON.stringify(line) + '\n');

// CPU time of the whole process, so that of the engine's helper threads too, in steps of a microsecond.
const clock = () => {
  const cpu = process.cpuUsage();
  return [(cpu.user + cpu.system) * 1000, Number(process.hrtime.bigint())];
};

const kernel = await import(at('pkg/kernel-plain/kernel-plain.js'));
const binary = await readFile(new URL(at('pkg/kernel-plain/kernel-plain_bg.wasm')));
kernel.initSync({ module: binary });
const noble = await import(at('vendor/noble.js'));
const entries = await import(at('js/runtimes.js'));

emit({ type: 'start', protocol: 1, node: process.version, v8: process.versions.v8, clock: 'process-cpu' });
await measure({ sampleMs: 2, ...plan }, { kernel, noble, entries, clock, emit });
emit({ type: 'end' });

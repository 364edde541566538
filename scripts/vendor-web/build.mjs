// Bundles the page's libraries into www/vendor, each with its licence: npm ci && node build.mjs
import { build } from 'esbuild';
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, '../../www/vendor');
const versions = JSON.parse(await readFile(join(here, 'package.json'), 'utf8')).dependencies;

async function licence(name) {
  const folder = join(here, 'node_modules', name);
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? await readFile(join(folder, file), 'utf8') : 'See the package for its licence.\n';
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  return `${name} ${version} (${license})\n\n${text.trim()}\n`;
}

/** The packages that ended up in a bundle, as esbuild saw them. */
function packagesOf(metafile) {
  const names = Object.keys(metafile.inputs)
    .map((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1])
    .filter(Boolean);
  return [...new Set(names)].sort();
}

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const entries = { noble: 'noble.js', flamegraph: 'flamegraph.js', uplot: 'node_modules/uplot/dist/uPlot.esm.js' };
for (const [name, entry] of Object.entries(entries)) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    outfile: join(out, `${name}.js`),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
    loader: { '.css': 'empty' },
    metafile: true,
  });
  const texts = await Promise.all(packagesOf(result.metafile).map(licence));
  await writeFile(join(out, `${name}.LICENSE.txt`), texts.join('\n---\n\n'));
}
await cp(join(here, 'node_modules/uplot/dist/uPlot.min.css'), join(out, 'uplot.css'));

// The viewer as released, without its example profile.
await cp(join(here, 'node_modules/speedscope/dist/release'), join(out, 'speedscope'), {
  recursive: true,
  filter: (source) => !/perf-vertx|file-format-schema|release\.txt/.test(source),
});
await writeFile(join(out, 'speedscope/LICENSE.txt'), await licence('speedscope'));
console.log(Object.entries(versions).map(([name, version]) => `${name} ${version}`).join('\n'));

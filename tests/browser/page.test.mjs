// The page in a real browser: loads under its policy, measures, cancels, exports, and keeps to itself.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';

import { launch, open, program, run, serve, shots } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Bytes that a visitor loads for the page and the primitives, compressed. */
const BUDGET = 300_000;

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.stop();
});

function raw(path, method = 'GET') {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, method }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer));
    })
      .on('error', reject)
      .end();
  });
}

async function seriousViolations(page) {
  // Under the page's policy only its own scripts run: axe comes in through the debugger's door.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document));
  return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
}

test('the server isolates the page and gives out nothing outside its folder', async () => {
  const { statusCode, headers } = await raw('/');
  assert.equal(statusCode, 200);
  assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
  assert.equal(headers['cross-origin-embedder-policy'], 'require-corp');
  assert.equal(headers['document-policy'], 'js-profiling');
  assert.match(headers['content-security-policy'], /default-src 'none'/);
  for (const path of ['/../Cargo.toml', '/%2e%2e/Cargo.toml', '/js/..%2f..%2fCargo.toml', '/nothing']) {
    assert.equal((await raw(path)).statusCode, 404, path);
  }
  assert.equal((await raw('/', 'POST')).statusCode, 405);
});

test('primitives: outputs agree before times, the table fills, the export is a record', async () => {
  const { page, errors, elsewhere } = await open(browser, server.url);
  assert.equal(await page.evaluate(() => crossOriginIsolated), true);
  assert.match(await page.textContent('#badges'), /6 vectors hold/);
  assert.match(await page.textContent('#badges'), /wasm optimised/);

  const panel = await run(page, 'primitives');
  const rows = await panel.locator('tbody tr').allInnerTexts();
  assert.ok(rows.length >= 13, `${rows.length} rows`);
  for (const row of rows) assert.match(row, /✓ .*(agree|checked)[\s\S]*\d+(\.\d+)? (ns|µs|ms)/);
  assert.match(rows.find((row) => row.startsWith('x25519_dh')), /3 runtimes agree/);
  assert.match(await panel.locator('.answer').innerText(), /One X25519 key agreement takes/);
  await page.screenshot({ path: join(shots, 'primitives-1280.png'), fullPage: true });

  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export-json')]);
  const file = join(mkdtempSync(join(tmpdir(), 'countercheck-')), 'browser.json');
  await download.saveAs(file);
  const record = JSON.parse(readFileSync(file, 'utf8'));
  assert.ok(record.rows.some((row) => row.name === 'x25519_dh' && row.runtime === 'webcrypto' && row.processes[0].samples.length >= 6));
  const reread = spawnSync(program, ['compare', file, file], { encoding: 'utf8' });
  assert.equal(reread.status, 0, reread.stderr);
  assert.match(reread.stdout, /x25519_dh/);

  assert.deepEqual(errors, []);
  assert.deepEqual(elsewhere, []);
});

test('the first visit loads less than the size budget, compressed', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const bodies = [];
  context.on('response', (response) => bodies.push(response.body().then((body) => [response.url(), brotliCompressSync(body).length]).catch(() => null)));
  await page.goto(server.url);
  await page.locator('#run:not([disabled])').waitFor();
  await page.click('#run');
  await page.locator('td .figure').first().waitFor();
  const sizes = new Map((await Promise.all(bodies)).filter(Boolean));
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  assert.ok([...sizes.keys()].some((url) => url.endsWith('_bg.wasm')), 'the kernel was loaded');
  assert.ok(total < BUDGET, `${total} bytes: ${[...sizes].map(([url, size]) => `${url} ${size}`).join(', ')}`);
  console.log(`page and primitives: ${total} bytes compressed, ${sizes.size} files`);
  await context.close();
});

test('cancel stops between two timing samples and keeps the figures', async () => {
  const { page, errors } = await open(browser, server.url);
  await page.locator('#panel-primitives .controls select').selectOption('30');
  await page.click('#run');
  await page.locator('td .figure').first().waitFor();
  await page.locator('#panel-primitives .cancel').click();
  await page.locator('#panel-primitives .status', { hasText: /^Cancelled/ }).waitFor();
  assert.ok((await page.locator('td .figure').count()) >= 1);
  assert.equal(await page.locator('#run').isEnabled(), true);
  assert.deepEqual(errors, []);
});

test('a link carries the result, and a forged one stays text', async () => {
  const { page, context } = await open(browser, server.url);
  await run(page, 'primitives');
  const link = await page.evaluate(async () => (await import('./js/share.js')).linkOf());
  const figures = (text) => text.map((row) => row.replace(/✓.*|outputs not compared yet/g, '').replace(/\s+/g, ' '));
  const measured = figures(await page.locator('#primitives-table tbody tr').allInnerTexts());
  const other = await context.newPage();
  await other.goto(link);
  await other.locator('.notice', { hasText: 'came with the link' }).waitFor();
  await other.locator('#run:not([disabled])').waitFor();
  const shared = figures(await other.locator('#primitives-table tbody tr').allInnerTexts());
  assert.equal(shared[0].split('±')[0], measured[0].split('±')[0]);

  const forged = await page.evaluate(async () => {
    const text = JSON.stringify({ v: 1, at: 1, ua: '<img src=x onerror="window.pwned=1">', rows: [['x25519_dh', 'webcrypto', '', 1, null, null]] });
    const packed = new Uint8Array(await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer());
    return btoa(String.fromCharCode(...packed)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  });
  const third = await context.newPage();
  await third.goto(`${server.url}#r=${forged}`);
  await third.locator('.notice', { hasText: '<img src=x' }).waitFor();
  assert.equal(await third.evaluate(() => window.pwned), undefined);
  const fourth = await context.newPage();
  await fourth.goto(`${server.url}#r=AAAA`);
  await fourth.locator('.notice', { hasText: 'cannot be read' }).waitFor();
});

test('operations: predicted from counts, then measured', async () => {
  const { page, errors, elsewhere } = await open(browser, server.url);
  const panel = await run(page, 'operations', '8');
  const row = await panel.locator('tr', { has: page.locator('th', { hasText: 'create_group/8' }) }).first().innerText();
  assert.match(row, /\d (µs|ms)[\s\S]*\d (µs|ms)[\s\S]*%/);
  await panel.locator('summary', { hasText: 'create_group/8' }).click();
  const parts = await panel.locator('details[open] tbody tr').allInnerTexts();
  // A group of 8 besides the creator: one key agreement for each of them, exactly.
  assert.ok(parts.some((part) => /^x25519_dh\s+8\s/.test(part)), parts.join('\n'));
  await page.screenshot({ path: join(shots, 'operations-1280.png'), fullPage: true });
  assert.deepEqual([errors, elsewhere], [[], []]);
});

test('fields: every representation is measured', async () => {
  const { page, errors } = await open(browser, server.url);
  const panel = await run(page, 'fields');
  assert.equal(await panel.locator('tbody tr').count(), 5);
  assert.match(await panel.locator('.answer').innerText(), /Fastest ladder here/);
  await page.screenshot({ path: join(shots, 'fields-1280.png'), fullPage: true });
  assert.deepEqual(errors, []);
});

test('families: Schnorr and Groth16 run here and name what is unsound', async () => {
  const { page, errors } = await open(browser, server.url);
  const panel = await run(page, 'families');
  const rows = await panel.locator('tbody tr').allInnerTexts();
  assert.equal(rows.length, 14);
  for (const row of rows) assert.match(row, /\d (ns|µs|ms)/);
  assert.ok(rows.some((row) => row.startsWith('batch_verify_unsound/16')), rows.join('\n'));
  assert.match(await panel.locator('.answer').innerText(), /sound batch/);
  await page.screenshot({ path: join(shots, 'families-1280.png'), fullPage: true });
  assert.deepEqual(errors, []);
});

test('cross-check: the browser’s sampler is judged against a mix of known shares', async () => {
  const { page, errors, elsewhere } = await open(browser, server.url);
  const panel = await run(page, 'crosscheck', '8');
  const rows = await panel.locator('table').first().locator('tbody tr').allInnerTexts();
  assert.equal(rows.length, 4);
  for (const row of rows) {
    const shares = [...row.matchAll(/(\d+\.\d) %/g)].map((match) => Number(match[1]));
    const [, inPlace, sampled] = shares;
    // Some 700 stack samples: five standard errors of a share are below 10 points.
    assert.ok(Math.abs(inPlace - sampled) < 15, row);
    assert.match(row, /agrees|over|under|unresolved/);
  }
  assert.ok((await panel.locator('.flame rect').count()) > 4);
  await page.screenshot({ path: join(shots, 'crosscheck-1280.png'), fullPage: true });
  assert.deepEqual([errors, elsewhere], [[], []]);
});

test('a dropped profile is read here, and hostile names stay text', async () => {
  const { page, errors, elsewhere } = await open(browser, server.url);
  await page.click('#tab-crosscheck');
  const folder = mkdtempSync(join(tmpdir(), 'countercheck-'));
  const hostile = join(folder, 'hostile.folded');
  writeFileSync(hostile, 'main;<img src=x onerror="window.pwned=1"> 7\nmain;<script>window.pwned=2</script>;"><svg onload=window.pwned=3> 5\n');
  await page.setInputFiles('#profile-file', hostile);
  await page.locator('#drop-status', { hasText: 'folded' }).waitFor();
  await page.locator('#dropped .flame rect').first().waitFor();
  assert.match(await page.locator('#dropped table').innerText(), /<img src=x/);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.locator('#dropped img, #dropped script, #dropped svg svg').count(), 0);

  const broken = join(folder, 'broken.cpuprofile');
  writeFileSync(broken, '{"nodes": [{"id": 1, "callFrame"');
  await page.setInputFiles('#profile-file', broken);
  await page.locator('#dropped .notice.bad').waitFor();
  assert.deepEqual([errors, elsewhere], [[], []]);
});

test('a profile that the developer tools took is read with its names', async () => {
  const { page, context } = await open(browser, server.url);
  await page.click('#tab-crosscheck');
  const session = await context.newCDPSession(page);
  await session.send('Profiler.enable');
  await session.send('Profiler.start');
  await page.evaluate(async () => {
    const { load } = await import('./js/engine.js');
    const kernel = await load('kernel', 'plain');
    const prepared = new kernel.Prepared('x25519_dh', 1);
    for (let i = 0; i < 200; i++) {
      prepared.load(0, 10);
      prepared.run();
      prepared.unload();
    }
  });
  const { profile } = await session.send('Profiler.stop');
  const file = join(mkdtempSync(join(tmpdir(), 'countercheck-')), 'devtools.cpuprofile');
  writeFileSync(file, JSON.stringify(profile));
  await page.setInputFiles('#profile-file', file);
  await page.locator('#drop-status', { hasText: 'cpuprofile' }).waitFor();
  await page.locator('#dropped table', { hasText: 'primitive::x25519::dh' }).waitFor();
  await page.getByRole('button', { name: 'Open in speedscope' }).click();
  const viewer = page.frameLocator('dialog iframe');
  await viewer.locator('canvas').first().waitFor();
  await page.screenshot({ path: join(shots, 'speedscope-1280.png') });
});

test('an attached debugger is suspected', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await (await context.newCDPSession(page)).send('Debugger.enable');
  await page.goto(server.url);
  await page.locator('.badge', { hasText: 'DevTools suspected' }).waitFor({ timeout: 60_000 });
  await context.close();
});

test('with wide arithmetic both builds run and agree', async (t) => {
  const wide = await launch({ wide: true });
  try {
    const { page, errors } = await open(wide, server.url);
    if (/no wide arithmetic/.test(await page.textContent('#badges'))) {
      t.skip(`Chromium ${wide.version()} has no wide arithmetic, even where it is asked for`);
      return;
    }
    await page.locator('#compare').check();
    const panel = await run(page, 'primitives');
    const row = await panel.locator('tr', { has: page.locator('th', { hasText: 'x25519_dh' }) }).innerText();
    assert.match(row, /4 runtimes agree/);
    assert.match(await panel.locator('thead').innerText(), /64-bit limbs[\s\S]*32-bit limbs/);
    assert.deepEqual(errors, []);
  } finally {
    await wide.close();
  }
});

test('keyboard, screen reader, phone, dark: no serious finding and nothing too wide', async () => {
  for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, reducedMotion: 'reduce' }]) {
    const { page, context } = await open(browser, server.url, options);
    const width = page.viewportSize().width;
    await run(page, 'primitives');
    assert.deepEqual(await seriousViolations(page), []);
    await page.locator('#tab-primitives').focus();
    for (const tab of ['fields', 'families', 'operations', 'crosscheck']) {
      await page.keyboard.press('ArrowRight');
      assert.equal(await page.locator(`#panel-${tab}`).isVisible(), true, tab);
      assert.deepEqual(await seriousViolations(page), [], tab);
    }
    await page.keyboard.press('Home');
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} px too wide at ${width}`);
    await page.screenshot({ path: join(shots, `primitives-${width}-${options.colorScheme}.png`), fullPage: true });
    await context.close();
  }
});

// Starts the server and the browser for the tests, and collects what must stay empty: errors and requests
// to elsewhere.

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
export const program = process.env.PRIMITIVES ?? join(root, 'target/debug/primitives');
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** Where screenshots go, to be looked at. */
export const shots = join(root, 'target/browser');
mkdirSync(shots, { recursive: true });

/** `primitives serve` on a free port. */
export function serve() {
  const server = spawn(program, ['serve', '--port', '0', '--build', 'nothing', '--folder', join(root, 'www')], { stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    let heard = '';
    server.on('exit', (code) => reject(new Error(`the server stopped with ${code}`)));
    server.stdout.on('data', (data) => {
      heard += data;
      const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(heard)?.[0];
      if (url) resolve({ url, stop: () => server.kill() });
    });
  });
}

/** Chromium; V8's flag for wide arithmetic where asked, by its names before and after it left the experiments. */
export const launch = ({ wide = false } = {}) =>
  chromium.launch({ executablePath, args: ['--no-sandbox', ...(wide ? ['--js-flags=--wasm-wide-arithmetic,--experimental-wasm-wide-arithmetic'] : [])] });

/** A page that has loaded and is ready to run, with everything that went wrong on the way. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const errors = [];
  const elsewhere = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(String(error)));
  const origin = new URL(url).origin;
  context.on('request', (request) => {
    if (!request.url().startsWith(origin) && !/^(blob|data):/.test(request.url())) elsewhere.push(request.url());
  });
  await page.goto(url);
  await page.locator('#run:not([disabled])').waitFor({ timeout: 60_000 });
  await page.locator('.badge', { hasText: /wasm optimised|DevTools suspected/ }).waitFor({ timeout: 60_000 });
  return { page, context, errors, elsewhere };
}

/** Presses a view's start button and waits until it has finished. */
export async function run(page, tab, seconds = '3') {
  const panel = page.locator(`#panel-${tab}`);
  if (tab !== 'primitives') await page.locator(`#tab-${tab}`).click();
  await panel.locator('.controls select').selectOption(seconds);
  await panel.locator('button.primary').click();
  await panel.locator('.controls .status', { hasText: /^(Done|Cancelled|Stopped)/ }).waitFor({ timeout: 240_000 });
  return panel;
}

// Horizontal bars on a logarithmic time axis. uPlot does scales, axes and sizes; the bars are drawn by a
// hook, because a group of bars with whiskers is not a line.

import uPlot from '../vendor/uplot.js';
import { el, fill } from './dom.js';
import { timeUnit } from './format.js';

/** @type {WeakMap<HTMLElement, {plot: uPlot, draw: () => void}>} */
const charts = new WeakMap();

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const BAR = 9;
const GROUP_GAP = 12;

/**
 * Draws or redraws a chart in a figure.
 * @param {HTMLElement} figure
 * @param {string} caption
 * @param {string[]} names one group of bars each, from the top
 * @param {{id: string, label: string, estimates: ({point: number, low: number | null, high: number | null} | null)[]}[]} series
 */
export function barChart(figure, caption, names, series) {
  charts.get(figure)?.destroy();
  const keys = series.map((one) => el('span', {}, el('span', { class: `key ${one.id}`, 'aria-hidden': 'true' }), one.label));
  const box = el('div', { role: 'img', 'aria-label': `${caption}. The table above holds the same figures.` });
  fill(figure, el('figcaption', {}, el('b', { text: caption }), ...keys), box);

  const points = series.flatMap((one) => one.estimates.filter(Boolean));
  const low = Math.min(...points.map((p) => p.low ?? p.point)) / 1.6;
  const high = Math.max(...points.map((p) => p.high ?? p.point)) * 1.2;
  const groupHeight = series.length * BAR + GROUP_GAP;
  const height = names.length * groupHeight + 46;

  const draw = () => {
    charts.get(figure)?.plot.destroy();
    const width = Math.max(260, box.clientWidth);
    const labels = width < 520 ? 132 : 200;
    const plot = new uPlot(
      {
        width,
        height,
        padding: [4, 14, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: {
          // Groups run down the page, time runs across.
          x: { time: false, ori: 1, dir: -1, range: [-0.5, names.length - 0.5] },
          y: { distr: 3, log: 10, ori: 0, dir: 1, range: [low, high] },
        },
        axes: [
          {
            side: 3,
            size: labels,
            splits: () => names.map((_, at) => at),
            values: () => names.map((name) => shorten(name, labels)),
            stroke: colour('--ink'),
            font: '12px ' + colour('--mono'),
            grid: { show: false },
            ticks: { show: false },
          },
          {
            side: 2,
            size: 30,
            stroke: colour('--soft'),
            font: `${width < 520 ? 11 : 12}px system-ui, sans-serif`,
            splits: () => decades(low, high),
            filter: (_, splits) => splits,
            values: (_, splits) => splits.map((ns) => (Number.isInteger(Math.log10(ns)) || width > 700 ? tick(ns) : '')),
            grid: { stroke: colour('--line'), width: 1 },
            ticks: { show: false },
          },
        ],
        series: [{}, { label: 'time', paths: () => null, points: { show: false } }],
        hooks: { draw: [(u) => bars(u, names, series, groupHeight)] },
      },
      [names.map((_, at) => at), names.map(() => high)],
      box,
    );
    charts.set(figure, { plot, destroy });
  };
  const observer = new ResizeObserver(() => {
    const plot = charts.get(figure)?.plot;
    if (!plot || Math.abs(plot.width - box.clientWidth) > 1) draw();
  });
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const destroy = () => {
    observer.disconnect();
    scheme.removeEventListener('change', draw);
    charts.get(figure)?.plot.destroy();
    charts.delete(figure);
  };
  scheme.addEventListener('change', draw);
  charts.set(figure, { plot: { destroy() {}, width: -1 }, destroy });
  observer.observe(box);
}

function bars(u, names, series, groupHeight) {
  const { ctx } = u;
  const ratio = devicePixelRatio || 1;
  const zero = u.bbox.left;
  ctx.save();
  ctx.beginPath();
  ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  ctx.clip();
  names.forEach((_, group) => {
    const middle = u.valToPos(group, 'x', true);
    series.forEach((one, at) => {
      const estimate = one.estimates[group];
      if (!estimate) return;
      const top = middle + (at - series.length / 2) * BAR * ratio;
      const end = u.valToPos(estimate.point, 'y', true);
      ctx.fillStyle = colour(`--s-${one.id}`);
      ctx.fillRect(zero, top + ratio, end - zero, (BAR - 2) * ratio);
      if (estimate.low === null || estimate.high === null) return;
      ctx.strokeStyle = colour('--ink');
      ctx.lineWidth = ratio;
      ctx.beginPath();
      const y = top + (BAR / 2) * ratio;
      ctx.moveTo(u.valToPos(estimate.low, 'y', true), y);
      ctx.lineTo(u.valToPos(estimate.high, 'y', true), y);
      ctx.stroke();
    });
  });
  ctx.restore();
}

/** 1, 2 and 5 of each decade between two values. */
function decades(low, high) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of [1, 2, 5]) {
      const value = step * 10 ** power;
      if (value >= low && value <= high) all.push(value);
    }
  }
  return all;
}

function tick(ns) {
  const [size, unit] = timeUnit(ns);
  return `${Math.round((ns / size) * 1000) / 1000} ${unit}`;
}

function shorten(name, width) {
  const fits = Math.floor((width - 12) / 7.3);
  return name.length <= fits ? name : `${name.slice(0, fits - 1)}…`;
}

// How figures are written: three significant digits and a unit, as on the command line.

const UNITS = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
];

/** @param {number} value */
export function threeDigits(value) {
  if (!Number.isFinite(value)) return '—';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 99.95) return String(Math.round(value));
  return value.toFixed(size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
}

/** The unit in which a time is written: `[divisor, name]`. */
export function timeUnit(ns) {
  return UNITS.find(([size]) => Math.abs(ns) >= size * 0.9995) ?? UNITS[UNITS.length - 1];
}

/** A time given in nanoseconds. */
export function time(ns) {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return '—';
  const [size, unit] = timeUnit(ns);
  return `${threeDigits(ns / size)} ${unit}`;
}

/** Half the width of an estimate's interval as `± 1.2 %`; empty without one. */
export function plusMinus(estimate) {
  if (!estimate || estimate.low === null || estimate.high === null || !(estimate.point > 0)) return '';
  const half = (50 * (estimate.high - estimate.low)) / estimate.point;
  return `± ${half >= 9.95 ? half.toFixed(0) : half.toFixed(1)} %`;
}

/** An interval in words for a title: `95 % interval 48.1 µs to 49.9 µs`. */
export function interval(estimate) {
  if (!estimate || estimate.low === null || estimate.high === null) return 'too few timing samples for an interval';
  return `95 % interval ${time(estimate.low)} to ${time(estimate.high)}`;
}

/** A part of a whole. */
export function percent(share) {
  return Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : '—';
}

/** A factor. */
export function times(factor) {
  return Number.isFinite(factor) ? `${threeDigits(factor)} ×` : '—';
}

/** A byte count. */
export function bytes(count) {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${threeDigits(count / 1024)} KiB`;
  return `${threeDigits(count / 1024 / 1024)} MiB`;
}

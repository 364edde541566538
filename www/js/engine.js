// What this engine can do, and the modules built for it.

/** A function that multiplies to 128 bits: valid only where wide arithmetic is. */
const WIDE_ARITHMETIC = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 1, 96, 2, 126, 126, 2, 126, 126, 3, 2, 1, 0, 10, 10, 1, 8, 0, 32, 0, 32, 1, 252, 22, 11,
];

/** A function that counts bits in a vector: valid only where simd128 is. */
const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];

const validates = (bytes) => WebAssembly.validate(new Uint8Array(bytes));

/** @returns {{wide: boolean, simd: boolean}} */
export function engine() {
  return { wide: validates(WIDE_ARITHMETIC), simd: validates(SIMD) };
}

/** What each build is, for people. */
export const FLAVOURS = {
  wide: '64-bit limbs, wide arithmetic, simd128',
  plain: '32-bit limbs, simd128',
};

/** The builds that this engine runs, the faster first. */
export function flavours() {
  const { wide, simd } = engine();
  if (!simd) return [];
  return wide ? ['wide', 'plain'] : ['plain'];
}

const loaded = new Map();

/**
 * A module in one build: `kernel`, `fields`, `families`, `operations` or, without builds, `profiles`.
 * @param {string} name
 * @param {string} [flavour]
 */
export function load(name, flavour) {
  const full = flavour ? `${name}-${flavour}` : name;
  if (!loaded.has(full)) {
    loaded.set(
      full,
      (async () => {
        const glue = await import(new URL(`../pkg/${full}/${full}.js`, import.meta.url).href);
        await glue.default();
        return glue;
      })(),
    );
    loaded.get(full).catch(() => loaded.delete(full));
  }
  return loaded.get(full);
}

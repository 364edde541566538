// The runtimes beside wasm: WebCrypto, and pure JavaScript by the noble libraries. Each entry says how to
// make one call from the bytes of one case; what a caller would do once per key happens before the clock.

import { JAVASCRIPT, WEBCRYPTO } from './cells.js';

const subtle = globalThis.crypto?.subtle;

/** PKCS #8 around a raw private key: the only form in which a browser imports one. */
const PKCS8 = { X25519: 0x6e, Ed25519: 0x70 };

function privateKey(name, secret, usages) {
  const der = new Uint8Array([48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, PKCS8[name], 4, 34, 4, 32, ...secret]);
  return subtle.importKey('pkcs8', der, { name }, false, usages);
}

const aesParameters = (nonce, associated) => ({ name: 'AES-GCM', iv: nonce, additionalData: associated });

const browser = {
  x25519_dh: async (secret, bytes) => {
    const key = await privateKey('X25519', secret, ['deriveBits']);
    const peer = await subtle.importKey('raw', bytes, { name: 'X25519' }, true, []);
    return () => subtle.deriveBits({ name: 'X25519', public: peer }, key, 256);
  },
  ed25519_sign: async (seed, message) => {
    const key = await privateKey('Ed25519', seed, ['sign']);
    return () => subtle.sign({ name: 'Ed25519' }, key, message);
  },
  ed25519_verify: async (bytes, message, signature) => {
    const key = await subtle.importKey('raw', bytes, { name: 'Ed25519' }, true, ['verify']);
    return () => subtle.verify({ name: 'Ed25519' }, key, signature, message);
  },
  sha256: async (message) => () => subtle.digest('SHA-256', message),
  sha512: async (message) => () => subtle.digest('SHA-512', message),
  hmac_sha256: async (bytes, message) => {
    const key = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    return () => subtle.sign('HMAC', key, message);
  },
  // Extract is HMAC under the salt, and expand to one block is HMAC under the pseudo-random key
  // (RFC 5869, section 2): the browser's own HKDF does both in one call, which is another function.
  hkdf_sha256_extract: async (salt, material) => {
    const key = await subtle.importKey('raw', salt, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    return () => subtle.sign('HMAC', key, material);
  },
  hkdf_sha256_expand: async (bytes, info) => {
    const key = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    const block = new Uint8Array([...info, 1]);
    return () => subtle.sign('HMAC', key, block);
  },
  aes128gcm_seal: async (bytes, nonce, associated, message) => {
    const key = await subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt']);
    return () => subtle.encrypt(aesParameters(nonce, associated), key, message);
  },
  aes128gcm_open: async (bytes, nonce, associated, ciphertext) => {
    const key = await subtle.importKey('raw', bytes, 'AES-GCM', false, ['decrypt']);
    return () => subtle.decrypt(aesParameters(nonce, associated), key, ciphertext);
  },
};

const pure = (noble) => ({
  x25519_dh: async (secret, bytes) => () => noble.x25519.getSharedSecret(secret, bytes),
  x25519_base: async (secret) => () => noble.x25519.getPublicKey(secret),
  ed25519_keygen: async (seed) => () => noble.ed25519.getPublicKey(seed),
  ed25519_sign: async (seed, message) => () => noble.ed25519.sign(message, seed),
  ed25519_verify: async (bytes, message, signature) => () => noble.ed25519.verify(signature, message, bytes, { zip215: false }),
  sha256: async (message) => () => noble.sha256(message),
  sha512: async (message) => () => noble.sha512(message),
  hmac_sha256: async (key, message) => () => noble.hmac(noble.sha256, key, message),
  hkdf_sha256_extract: async (salt, material) => () => noble.extract(noble.sha256, material, salt),
  hkdf_sha256_expand: async (key, info) => () => noble.expand(noble.sha256, key, info, 32),
  chacha20poly1305_seal: async (key, nonce, associated, message) => () =>
    noble.chacha20poly1305(key, nonce, associated).encrypt(message),
  chacha20poly1305_open: async (key, nonce, associated, ciphertext) => () =>
    noble.chacha20poly1305(key, nonce, associated).decrypt(ciphertext),
  aes128gcm_seal: async (key, nonce, associated, message) => () => noble.gcm(key, nonce, associated).encrypt(message),
  aes128gcm_open: async (key, nonce, associated, ciphertext) => () => noble.gcm(key, nonce, associated).decrypt(ciphertext),
});

const base = (name) => name.split('/')[0];

/** How the browser's own cryptography computes a workload; undefined where it does not. */
export function webcrypto(name) {
  const call = subtle && browser[base(name)];
  return call && { runtime: WEBCRYPTO, implementation: 'WebCrypto', asynchronous: true, call };
}

/** How the noble libraries compute a workload; undefined where they do not. */
export function javascript(name, noble) {
  const call = pure(noble)[base(name)];
  return call && { runtime: JAVASCRIPT, implementation: 'noble 2.4', asynchronous: false, call };
}

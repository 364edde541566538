// What the page times of the noble libraries: pure JavaScript beside wasm and WebCrypto.
export { ed25519, x25519 } from '@noble/curves/ed25519.js';
export { sha256, sha512 } from '@noble/hashes/sha2.js';
export { hmac } from '@noble/hashes/hmac.js';
export { expand, extract } from '@noble/hashes/hkdf.js';
export { gcm } from '@noble/ciphers/aes.js';
export { chacha20poly1305 } from '@noble/ciphers/chacha.js';

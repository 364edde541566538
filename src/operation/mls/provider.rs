//! OpenMLS on this crate's primitives: a crypto provider in which every primitive, and the random source,
//! is behind its boundary, and whose randomness comes from a seed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hpke_rs::{Hpke, Mode};
use hpke_rs_crypto::types::{AeadAlgorithm, KdfAlgorithm, KemAlgorithm, SingleStageKdfAlgorithm, TwoStageKdfAlgorithm};
use hpke_rs_crypto::{HpkeCrypto, error::Error as HpkeError};
use openmls_memory_storage::MemoryStorage;
use openmls_traits::OpenMlsProvider;
use openmls_traits::crypto::OpenMlsCrypto;
use openmls_traits::random::OpenMlsRand;
use openmls_traits::signatures::{Signer, SignerError};
use openmls_traits::types::{
    AeadType, Ciphersuite, CryptoError, ExporterSecret, HashType, HpkeAeadType, HpkeCiphertext, HpkeConfig,
    HpkeKdfType, HpkeKemType, HpkeKeyPair, KemOutput, SignatureScheme,
};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, TryCryptoRng, TryRng};
use tls_codec::SecretVLBytes;

use crate::boundary::Boundary;
use crate::operation::bounded::{self, Aead, sized};
use crate::primitive::PrimitiveError;
use crate::primitive::ed25519::SigningKey;

// Named, because other crates have functions called `random` that do more than draw.
static RANDOM: Boundary =
    Boundary::new("random").frames(&["countercheck::operation::mls::provider::Random::draw"]).stateful();

/// Storage, primitives and randomness of one member.
#[derive(Debug)]
pub struct Provider {
    crypto: Crypto,
    storage: MemoryStorage,
}

impl Provider {
    /// A provider with this randomness and stored values.
    pub fn new(random: ChaCha20Rng, values: HashMap<Vec<u8>, Vec<u8>>) -> Self {
        let storage = MemoryStorage::default();
        *storage.values.write().unwrap_or_else(PoisonError::into_inner) = values;
        Self { crypto: Crypto { random: Random(Arc::new(Mutex::new(random))) }, storage }
    }

    /// A copy of the stored values.
    pub fn values(&self) -> HashMap<Vec<u8>, Vec<u8>> {
        self.storage.values.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl OpenMlsProvider for Provider {
    type CryptoProvider = Crypto;
    type RandProvider = Crypto;
    type StorageProvider = MemoryStorage;

    fn storage(&self) -> &MemoryStorage {
        &self.storage
    }

    fn crypto(&self) -> &Crypto {
        &self.crypto
    }

    fn rand(&self) -> &Crypto {
        &self.crypto
    }
}

/// The seeded random source, shared with HPKE.
#[derive(Clone, Debug)]
pub(super) struct Random(Arc<Mutex<ChaCha20Rng>>);

impl Random {
    fn draw(&self, length: usize) -> Vec<u8> {
        RANDOM.call(|| {
            let mut bytes = vec![0; length];
            self.0.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
            bytes
        })
    }
}

impl TryRng for Random {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        rand_core::utils::next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        rand_core::utils::next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.copy_from_slice(&self.draw(bytes.len()));
        Ok(())
    }
}

impl TryCryptoRng for Random {}

/// The primitives as OpenMLS asks for them.
#[derive(Debug)]
pub struct Crypto {
    random: Random,
}

impl OpenMlsRand for Crypto {
    type Error = CryptoError;

    fn random_array<const N: usize>(&self) -> Result<[u8; N], CryptoError> {
        self.random_vec(N)?.try_into().map_err(|_| CryptoError::InsufficientRandomness)
    }

    fn random_vec(&self, length: usize) -> Result<Vec<u8>, CryptoError> {
        Ok(self.random.draw(length))
    }
}

impl Crypto {
    fn hpke(&self, config: HpkeConfig) -> Result<Hpke<Primitives>, CryptoError> {
        let HpkeConfig(HpkeKemType::DhKem25519, HpkeKdfType::HkdfSha256, aead) = config else {
            return Err(CryptoError::UnsupportedCiphersuite);
        };
        let aead = match aead {
            HpkeAeadType::AesGcm128 => AeadAlgorithm::Aes128Gcm,
            HpkeAeadType::ChaCha20Poly1305 => AeadAlgorithm::ChaCha20Poly1305,
            HpkeAeadType::Export => AeadAlgorithm::HpkeExport,
            HpkeAeadType::AesGcm256 => return Err(CryptoError::UnsupportedAeadAlgorithm),
        };
        let (kem, kdf) = (KemAlgorithm::DhKem25519, KdfAlgorithm::HkdfSha256);
        Ok(Hpke::new_with_rng(Mode::Base, kem, kdf, aead, self.random.clone()))
    }
}

/// The ciphersuites of this provider: X25519 and Ed25519 with SHA-256.
pub(super) const CIPHERSUITES: [Ciphersuite; 2] = [
    Ciphersuite::MLS_128_DHKEMX25519_CHACHA20POLY1305_SHA256_Ed25519,
    Ciphersuite::MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519,
];

impl OpenMlsCrypto for Crypto {
    fn supports(&self, ciphersuite: Ciphersuite) -> Result<(), CryptoError> {
        if CIPHERSUITES.contains(&ciphersuite) { Ok(()) } else { Err(CryptoError::UnsupportedCiphersuite) }
    }

    fn supported_ciphersuites(&self) -> Vec<Ciphersuite> {
        CIPHERSUITES.into()
    }

    fn hkdf_extract(&self, hash: HashType, salt: &[u8], ikm: &[u8]) -> Result<SecretVLBytes, CryptoError> {
        only_sha256(hash)?;
        Ok(bounded::hkdf_extract(salt, ikm).to_vec().into())
    }

    fn hmac(&self, hash: HashType, key: &[u8], message: &[u8]) -> Result<SecretVLBytes, CryptoError> {
        only_sha256(hash)?;
        Ok(bounded::hmac_sha256(key, message).to_vec().into())
    }

    fn hkdf_expand(
        &self,
        hash: HashType,
        prk: &[u8],
        info: &[u8],
        length: usize,
    ) -> Result<SecretVLBytes, CryptoError> {
        only_sha256(hash)?;
        let output = bounded::hkdf_expand(prk, info, length).map_err(|_| CryptoError::HkdfOutputLengthInvalid)?;
        Ok(output.into())
    }

    fn hash(&self, hash: HashType, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
        only_sha256(hash)?;
        Ok(bounded::sha256(data).to_vec())
    }

    fn aead_encrypt(
        &self,
        algorithm: AeadType,
        key: &[u8],
        data: &[u8],
        nonce: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        bounded::seal(aead(algorithm)?, key, nonce, aad, data).map_err(|_| CryptoError::InvalidLength)
    }

    fn aead_decrypt(
        &self,
        algorithm: AeadType,
        key: &[u8],
        ciphertext: &[u8],
        nonce: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        bounded::open(aead(algorithm)?, key, nonce, aad, ciphertext).map_err(|_| CryptoError::AeadDecryptionError)
    }

    fn signature_key_gen(&self, scheme: SignatureScheme) -> Result<(Vec<u8>, Vec<u8>), CryptoError> {
        only_ed25519(scheme)?;
        let key = bounded::ed25519_keygen(&self.random_array()?);
        Ok((key.to_bytes().to_vec(), key.verifying_key().to_bytes().to_vec()))
    }

    fn verify_signature(
        &self,
        scheme: SignatureScheme,
        data: &[u8],
        public: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        only_ed25519(scheme)?;
        let public = sized(public).map_err(|_| CryptoError::InvalidPublicKey)?;
        let signature = sized(signature).map_err(|_| CryptoError::SignatureDecodingError)?;
        bounded::ed25519_verify(public, data, signature).map_err(|_| CryptoError::InvalidSignature)
    }

    fn sign(&self, scheme: SignatureScheme, data: &[u8], key: &[u8]) -> Result<Vec<u8>, CryptoError> {
        only_ed25519(scheme)?;
        let key = bounded::ed25519_keygen(sized(key).map_err(|_| CryptoError::InvalidLength)?);
        Ok(bounded::ed25519_sign(&key, data).to_vec())
    }

    fn hpke_seal(
        &self,
        config: HpkeConfig,
        public: &[u8],
        info: &[u8],
        aad: &[u8],
        plaintext: &[u8],
    ) -> Result<HpkeCiphertext, CryptoError> {
        let sealed = self.hpke(config)?.seal(&public.into(), info, aad, plaintext, None, None, None);
        let (kem_output, ciphertext) = sealed.map_err(|_| CryptoError::HpkeEncryptionError)?;
        Ok(HpkeCiphertext { kem_output: kem_output.into(), ciphertext: ciphertext.into() })
    }

    fn hpke_open(
        &self,
        config: HpkeConfig,
        input: &HpkeCiphertext,
        secret: &[u8],
        info: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        let (kem_output, ciphertext) = (input.kem_output.as_slice(), input.ciphertext.as_slice());
        let opened = self.hpke(config)?.open(kem_output, &secret.into(), info, aad, ciphertext, None, None, None);
        opened.map_err(|_| CryptoError::HpkeDecryptionError)
    }

    fn hpke_setup_sender_and_export(
        &self,
        config: HpkeConfig,
        public: &[u8],
        info: &[u8],
        exporter_context: &[u8],
        exporter_length: usize,
    ) -> Result<(KemOutput, ExporterSecret), CryptoError> {
        let sender = self.hpke(config)?.setup_sender(&public.into(), info, None, None, None);
        let (kem_output, context) = sender.map_err(|_| CryptoError::SenderSetupError)?;
        let secret = context.export(exporter_context, exporter_length).map_err(|_| CryptoError::ExporterError)?;
        Ok((kem_output, secret.into()))
    }

    fn hpke_setup_receiver_and_export(
        &self,
        config: HpkeConfig,
        kem_output: &[u8],
        secret: &[u8],
        info: &[u8],
        exporter_context: &[u8],
        exporter_length: usize,
    ) -> Result<ExporterSecret, CryptoError> {
        let receiver = self.hpke(config)?.setup_receiver(kem_output, &secret.into(), info, None, None, None);
        let context = receiver.map_err(|_| CryptoError::ReceiverSetupError)?;
        let secret = context.export(exporter_context, exporter_length).map_err(|_| CryptoError::ExporterError)?;
        Ok(secret.into())
    }

    fn derive_hpke_keypair(&self, config: HpkeConfig, ikm: &[u8]) -> Result<HpkeKeyPair, CryptoError> {
        let pair = self.hpke(config)?.derive_key_pair(ikm).map_err(|_| CryptoError::CryptoLibraryError)?;
        let (private, public) = pair.into_keys();
        Ok(HpkeKeyPair { private: private.as_slice().into(), public: public.as_slice().into() })
    }
}

fn only_sha256(hash: HashType) -> Result<(), CryptoError> {
    if hash == HashType::Sha2_256 { Ok(()) } else { Err(CryptoError::UnsupportedHashAlgorithm) }
}

fn only_ed25519(scheme: SignatureScheme) -> Result<(), CryptoError> {
    if scheme == SignatureScheme::ED25519 { Ok(()) } else { Err(CryptoError::UnsupportedSignatureScheme) }
}

fn aead(algorithm: AeadType) -> Result<Aead, CryptoError> {
    match algorithm {
        AeadType::Aes128Gcm => Ok(Aead::Aes128Gcm),
        AeadType::ChaCha20Poly1305 => Ok(Aead::ChaCha20Poly1305),
        AeadType::Aes256Gcm => Err(CryptoError::UnsupportedAeadAlgorithm),
    }
}

/// A member's signature key. OpenMLS signs through this, not through [`Crypto`].
pub struct Ed25519Signer(pub SigningKey);

impl Signer for Ed25519Signer {
    fn sign(&self, payload: &[u8]) -> Result<Vec<u8>, SignerError> {
        Ok(bounded::ed25519_sign(&self.0, payload).to_vec())
    }

    fn signature_scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

/// The primitives as HPKE asks for them.
#[derive(Debug)]
pub(super) struct Primitives;

impl HpkeCrypto for Primitives {
    type HpkePrng = Random;

    fn name() -> String {
        "countercheck".to_owned()
    }

    fn supports_kdf(kdf: KdfAlgorithm) -> Result<(), HpkeError> {
        if kdf == KdfAlgorithm::HkdfSha256 { Ok(()) } else { Err(HpkeError::UnknownKdfAlgorithm) }
    }

    fn supports_kem(kem: KemAlgorithm) -> Result<(), HpkeError> {
        only_x25519(kem)
    }

    fn supports_aead(aead: AeadAlgorithm) -> Result<(), HpkeError> {
        match aead {
            AeadAlgorithm::HpkeExport => Ok(()),
            other => hpke_aead(other).map(|_| ()),
        }
    }

    fn kdf_extract(kdf: TwoStageKdfAlgorithm, salt: &[u8], ikm: &[u8]) -> Result<Vec<u8>, HpkeError> {
        only_hkdf_sha256(kdf)?;
        Ok(bounded::hkdf_extract(salt, ikm).to_vec())
    }

    fn kdf_expand(kdf: TwoStageKdfAlgorithm, prk: &[u8], info: &[u8], size: usize) -> Result<Vec<u8>, HpkeError> {
        only_hkdf_sha256(kdf)?;
        bounded::hkdf_expand(prk, info, size).map_err(|_| HpkeError::HpkeInvalidOutputLength)
    }

    fn kdf_derive(_: SingleStageKdfAlgorithm, _: &[u8], _: usize) -> Result<Vec<u8>, HpkeError> {
        Err(HpkeError::UnknownKdfAlgorithm)
    }

    fn dh(kem: KemAlgorithm, public: &[u8], secret: &[u8]) -> Result<Vec<u8>, HpkeError> {
        only_x25519(kem)?;
        let public = sized(public).map_err(|_| HpkeError::KemInvalidPublicKey)?;
        let secret = sized(secret).map_err(|_| HpkeError::KemInvalidSecretKey)?;
        let shared = bounded::x25519_dh(secret, public);
        // RFC 9180 section 7.1.4: an all-zero shared secret means a public key of small order.
        if shared == [0; 32] { Err(HpkeError::KemInvalidPublicKey) } else { Ok(shared.to_vec()) }
    }

    fn secret_to_public(kem: KemAlgorithm, secret: &[u8]) -> Result<Vec<u8>, HpkeError> {
        only_x25519(kem)?;
        let secret = sized(secret).map_err(|_| HpkeError::KemInvalidSecretKey)?;
        Ok(bounded::x25519_base(secret).to_vec())
    }

    fn kem_key_gen(kem: KemAlgorithm, random: &mut Random) -> Result<(Vec<u8>, Vec<u8>), HpkeError> {
        let secret = random.draw(32);
        Ok((Self::secret_to_public(kem, &secret)?, secret))
    }

    fn kem_key_gen_derand(_: KemAlgorithm, _: &[u8]) -> Result<(Vec<u8>, Vec<u8>), HpkeError> {
        Err(HpkeError::UnsupportedKemOperation)
    }

    fn kem_encaps(_: KemAlgorithm, _: &[u8], _: &mut Random) -> Result<(Vec<u8>, Vec<u8>), HpkeError> {
        Err(HpkeError::UnsupportedKemOperation)
    }

    fn kem_encaps_derand(_: KemAlgorithm, _: &[u8], _: &[u8]) -> Result<(Vec<u8>, Vec<u8>), HpkeError> {
        Err(HpkeError::UnsupportedKemOperation)
    }

    fn kem_decaps(_: KemAlgorithm, _: &[u8], _: &[u8]) -> Result<Vec<u8>, HpkeError> {
        Err(HpkeError::UnsupportedKemOperation)
    }

    fn dh_validate_sk(kem: KemAlgorithm, secret: &[u8]) -> Result<Vec<u8>, HpkeError> {
        only_x25519(kem)?;
        sized::<32>(secret).map(|secret| secret.to_vec()).map_err(|_| HpkeError::KemInvalidSecretKey)
    }

    fn aead_seal(
        algorithm: AeadAlgorithm,
        key: &[u8],
        nonce: &[u8],
        aad: &[u8],
        message: &[u8],
    ) -> Result<Vec<u8>, HpkeError> {
        bounded::seal(hpke_aead(algorithm)?, key, nonce, aad, message)
            .map_err(|_| HpkeError::CryptoLibraryError("key, nonce or message of a wrong length".to_owned()))
    }

    fn aead_open(
        algorithm: AeadAlgorithm,
        key: &[u8],
        nonce: &[u8],
        aad: &[u8],
        ciphertext: &[u8],
    ) -> Result<Vec<u8>, HpkeError> {
        bounded::open(hpke_aead(algorithm)?, key, nonce, aad, ciphertext).map_err(|error| match error {
            PrimitiveError::Forged => HpkeError::AeadOpenError,
            _ => HpkeError::AeadInvalidCiphertext,
        })
    }
}

fn only_x25519(kem: KemAlgorithm) -> Result<(), HpkeError> {
    if kem == KemAlgorithm::DhKem25519 { Ok(()) } else { Err(HpkeError::UnknownKemAlgorithm) }
}

fn only_hkdf_sha256(kdf: TwoStageKdfAlgorithm) -> Result<(), HpkeError> {
    if kdf == TwoStageKdfAlgorithm::HkdfSha256 { Ok(()) } else { Err(HpkeError::UnknownKdfAlgorithm) }
}

fn hpke_aead(algorithm: AeadAlgorithm) -> Result<Aead, HpkeError> {
    match algorithm {
        AeadAlgorithm::Aes128Gcm => Ok(Aead::Aes128Gcm),
        AeadAlgorithm::ChaCha20Poly1305 => Ok(Aead::ChaCha20Poly1305),
        _ => Err(HpkeError::UnknownAeadAlgorithm),
    }
}

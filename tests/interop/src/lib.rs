//! OpenMLS on this project's primitives and OpenMLS on its stock provider in one group: each joins the
//! other's, reads its messages and follows its commits.
#![cfg(test)]

use countercheck::operation::mls::{Ed25519Signer, Provider};
use countercheck::primitive::ed25519;
use openmls::prelude::tls_codec::{DeserializeBytes, Serialize};
use openmls::prelude::*;
use openmls_basic_credential::SignatureKeyPair;
use openmls_rust_crypto::OpenMlsRustCrypto;
use openmls_traits::OpenMlsProvider;
use openmls_traits::signatures::Signer;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const CIPHERSUITES: [Ciphersuite; 2] = [
    Ciphersuite::MLS_128_DHKEMX25519_CHACHA20POLY1305_SHA256_Ed25519,
    Ciphersuite::MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519,
];

struct Party<P, S> {
    provider: P,
    signer: S,
    credential: CredentialWithKey,
}

fn ours() -> Party<Provider, Ed25519Signer> {
    let key = ed25519::keygen(&[7; 32]);
    let credential = credential("ours", key.verifying_key().as_bytes());
    let provider = Provider::new(ChaCha20Rng::seed_from_u64(1), Default::default());
    Party { provider, signer: Ed25519Signer(key), credential }
}

fn stock() -> Party<OpenMlsRustCrypto, SignatureKeyPair> {
    let signer = SignatureKeyPair::new(SignatureScheme::ED25519).unwrap();
    let credential = credential("stock", signer.public());
    Party { provider: OpenMlsRustCrypto::default(), signer, credential }
}

fn credential(name: &str, key: &[u8]) -> CredentialWithKey {
    CredentialWithKey { credential: BasicCredential::new(name.as_bytes().to_vec()).into(), signature_key: key.into() }
}

/// What arrives at the other side: the bytes, read anew.
fn sent(message: &MlsMessageOut) -> MlsMessageIn {
    MlsMessageIn::tls_deserialize_exact_bytes(&message.tls_serialize_detached().unwrap()).unwrap()
}

fn receive<P: OpenMlsProvider>(provider: &P, group: &mut MlsGroup, message: &MlsMessageOut) -> ProcessedMessageContent {
    let message = sent(message).try_into_protocol_message().unwrap();
    group.process_message(provider, message).unwrap().into_content()
}

fn converse<P: OpenMlsProvider, S: Signer, Q: OpenMlsProvider, T: Signer>(
    ciphersuite: Ciphersuite,
    creator: &Party<P, S>,
    joiner: &Party<Q, T>,
) {
    let bundle =
        KeyPackage::builder().build(ciphersuite, &joiner.provider, &joiner.signer, joiner.credential.clone()).unwrap();
    let package = KeyPackageIn::from(bundle.key_package().clone())
        .validate(creator.provider.crypto(), ProtocolVersion::Mls10)
        .unwrap();
    let mut created = MlsGroup::builder()
        .ciphersuite(ciphersuite)
        .use_ratchet_tree_extension(true)
        .build(&creator.provider, &creator.signer, creator.credential.clone())
        .unwrap();
    let (_, welcome, _) = created.add_members(&creator.provider, &creator.signer, &[package]).unwrap();
    created.merge_pending_commit(&creator.provider).unwrap();
    let MlsMessageBodyIn::Welcome(welcome) = sent(&welcome).extract() else { panic!("no Welcome") };
    let config = MlsGroupJoinConfig::builder().use_ratchet_tree_extension(true).build();
    let mut joined = StagedWelcome::new_from_welcome(&joiner.provider, &config, welcome, None)
        .unwrap()
        .into_group(&joiner.provider)
        .unwrap();
    assert_eq!(created.epoch_authenticator().as_slice(), joined.epoch_authenticator().as_slice());

    let message = created.create_message(&creator.provider, &creator.signer, b"from the creator").unwrap();
    match receive(&joiner.provider, &mut joined, &message) {
        ProcessedMessageContent::ApplicationMessage(read) => assert_eq!(read.into_bytes(), b"from the creator"),
        _ => panic!("no application message"),
    }
    let bundle = joined.self_update(&joiner.provider, &joiner.signer, LeafNodeParameters::default()).unwrap();
    joined.merge_pending_commit(&joiner.provider).unwrap();
    match receive(&creator.provider, &mut created, bundle.commit()) {
        ProcessedMessageContent::StagedCommitMessage(staged) => {
            created.merge_staged_commit(&creator.provider, *staged).unwrap();
        }
        _ => panic!("no commit"),
    }
    assert_eq!(created.epoch_authenticator().as_slice(), joined.epoch_authenticator().as_slice());
}

#[test]
fn the_stock_provider_follows_ours() {
    for ciphersuite in CIPHERSUITES {
        converse(ciphersuite, &ours(), &stock());
    }
}

#[test]
fn ours_follows_the_stock_provider() {
    for ciphersuite in CIPHERSUITES {
        converse(ciphersuite, &stock(), &ours());
    }
}

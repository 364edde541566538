//! Members and groups for the MLS operations, all from a seed: who is there before the clock starts.

use std::collections::HashMap;
use std::sync::Arc;

use openmls::prelude::tls_codec::{DeserializeBytes, Serialize};
use openmls::prelude::{
    BasicCredential, Ciphersuite, CredentialWithKey, GroupId, KeyPackage, Lifetime, MlsGroup, MlsGroupJoinConfig,
    MlsMessageBodyIn, MlsMessageIn, MlsMessageOut, StagedWelcome, Welcome,
};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::provider::{Ed25519Signer, Provider};
use crate::operation::bounded;

pub(super) type Values = HashMap<Vec<u8>, Vec<u8>>;

/// Valid whenever the program runs, so that the same seed gives the same bytes on any day.
const LIFETIME: (u64, u64) = (0, 4_102_444_800);

/// Someone with a signature key.
pub(super) struct Member {
    pub(super) signer: Ed25519Signer,
    pub(super) credential: CredentialWithKey,
}

impl Member {
    fn new(number: u64, random: &mut ChaCha20Rng) -> Self {
        let mut seed = [0; 32];
        random.fill_bytes(&mut seed);
        let key = bounded::ed25519_keygen(&seed);
        let credential = CredentialWithKey {
            credential: BasicCredential::new(format!("member {number}").into_bytes()).into(),
            signature_key: key.verifying_key().as_bytes().as_slice().into(),
        };
        Self { signer: Ed25519Signer(key), credential }
    }
}

/// A creator, and the others with their key packages.
pub(super) struct World {
    pub(super) ciphersuite: Ciphersuite,
    pub(super) creator: Arc<Member>,
    pub(super) key_packages: Vec<KeyPackage>,
    /// The storage of the first of the others, which holds the private half of its key package.
    pub(super) first: Option<Values>,
}

/// What [`World::create_group`] returns.
pub(super) struct Created {
    pub(super) group: MlsGroup,
    /// Commit and Welcome; `None` where nobody was added.
    pub(super) messages: Option<(MlsMessageOut, MlsMessageOut)>,
}

/// A group in which everybody has joined, as stored by the creator and by the first joiner.
pub(super) struct Grown {
    pub(super) world: World,
    pub(super) creator_values: Values,
    pub(super) welcome: Option<Welcome>,
    pub(super) first_values: Option<Values>,
    pub(super) authenticator: Vec<u8>,
}

/// Randomness for one purpose: the same seed and stream give the same bytes.
pub(super) fn random(seed: u64, stream: u64) -> ChaCha20Rng {
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random
}

/// An OpenMLS error as this crate's operations report it.
pub(super) fn text(what: &str) -> impl Fn(&dyn std::fmt::Debug) -> String + '_ {
    move |error| format!("{what}: {error:?}")
}

impl World {
    /// A creator and `others` members with validated key packages.
    pub(super) fn new(ciphersuite: Ciphersuite, others: u64, seed: u64, stream: u64) -> Result<Self, String> {
        let mut random = random(seed, stream);
        let creator = Arc::new(Member::new(0, &mut random));
        let mut key_packages = Vec::new();
        let mut first = None;
        for number in 1..=others {
            let member = Member::new(number, &mut random);
            let provider = Provider::new(ChaCha20Rng::from_rng(&mut random), Values::new());
            let bundle = KeyPackage::builder()
                .key_package_lifetime(Lifetime::init(LIFETIME.0, LIFETIME.1))
                .build(ciphersuite, &provider, &member.signer, member.credential.clone())
                .map_err(|error| text("a key package")(&error))?;
            key_packages.push(bundle.key_package().clone());
            first.get_or_insert_with(|| provider.values());
        }
        Ok(Self { ciphersuite, creator, key_packages, first })
    }

    /// Creates the group, adds everybody in one commit and merges it.
    pub(super) fn create_group(&self, provider: &Provider) -> Result<Created, String> {
        create_group(provider, self.ciphersuite, &self.creator, &self.key_packages)
    }

    /// Creates the group and lets the first of the others join.
    pub(super) fn grow(self, seed: u64, stream: u64) -> Result<Grown, String> {
        let provider = Provider::new(random(seed, stream), Values::new());
        let created = self.create_group(&provider)?;
        let authenticator = created.group.epoch_authenticator().as_slice().to_vec();
        let welcome = created.messages.as_ref().map(|(_, welcome)| welcome_of(welcome)).transpose()?;
        let first_values = match (&welcome, &self.first) {
            (Some(welcome), Some(first)) => {
                let provider = Provider::new(random(seed, stream + 1), first.clone());
                join(&provider, welcome.clone())?;
                Some(provider.values())
            }
            _ => None,
        };
        Ok(Grown { world: self, creator_values: provider.values(), welcome, first_values, authenticator })
    }
}

/// Creates a group, adds the owners of the key packages in one commit and merges it. The Welcome carries
/// the ratchet tree.
pub(super) fn create_group(
    provider: &Provider,
    ciphersuite: Ciphersuite,
    creator: &Member,
    key_packages: &[KeyPackage],
) -> Result<Created, String> {
    let mut group = MlsGroup::builder()
        .with_group_id(group_id())
        .ciphersuite(ciphersuite)
        .lifetime(Lifetime::init(LIFETIME.0, LIFETIME.1))
        .use_ratchet_tree_extension(true)
        .build(provider, &creator.signer, creator.credential.clone())
        .map_err(|error| text("creating the group")(&error))?;
    if key_packages.is_empty() {
        return Ok(Created { group, messages: None });
    }
    let (commit, welcome, _) =
        group.add_members(provider, &creator.signer, key_packages).map_err(|error| text("adding members")(&error))?;
    group.merge_pending_commit(provider).map_err(|error| text("merging the commit")(&error))?;
    Ok(Created { group, messages: Some((commit, welcome)) })
}

/// Joins from a Welcome with the key package in the provider's storage.
pub(super) fn join(provider: &Provider, welcome: Welcome) -> Result<MlsGroup, String> {
    let config = MlsGroupJoinConfig::builder().use_ratchet_tree_extension(true).build();
    StagedWelcome::new_from_welcome(provider, &config, welcome, None)
        .and_then(|staged| staged.into_group(provider))
        .map_err(|error| text("joining")(&error))
}

/// The stored group.
pub(super) fn load(provider: &Provider) -> Result<MlsGroup, String> {
    use openmls_traits::OpenMlsProvider;
    MlsGroup::load(provider.storage(), &group_id())
        .map_err(|error| text("loading the group")(&error))?
        .ok_or_else(|| "loading the group: it is not stored".to_owned())
}

fn group_id() -> GroupId {
    GroupId::from_slice(b"countercheck")
}

/// The bytes of a message.
pub(super) fn bytes(message: &MlsMessageOut) -> Result<Vec<u8>, String> {
    message.tls_serialize_detached().map_err(|error| text("encoding a message")(&error))
}

/// The Welcome that a message holds, as its receiver reads it.
fn welcome_of(message: &MlsMessageOut) -> Result<Welcome, String> {
    match MlsMessageIn::tls_deserialize_exact_bytes(&bytes(message)?).map(MlsMessageIn::extract) {
        Ok(MlsMessageBodyIn::Welcome(welcome)) => Ok(welcome),
        Ok(_) => Err("reading the Welcome: it is another message".to_owned()),
        Err(error) => Err(text("reading the Welcome")(&error)),
    }
}

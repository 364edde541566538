//! MLS group operations (RFC 9420) on OpenMLS, in memory, deterministic from a seed.
//!
//! `N` is the number of members that the creator added in one commit: a group of `N` has `N + 1` leaves.
//! The Welcome carries the ratchet tree, which in OpenMLS also makes each commit export a GroupInfo: one
//! more signature and key pair than a commit without it. Key packages are validated beforehand, except in
//! `validate_key_packages`. Messages are the first of their epoch.

mod provider;
mod world;

#[cfg(all(test, not(feature = "boundary-off")))]
mod tests;

use std::sync::Arc;

use openmls::prelude::tls_codec::{DeserializeBytes, Serialize};
use openmls::prelude::{
    Ciphersuite, KeyPackage, KeyPackageIn, LeafNodeParameters, MlsGroup, MlsMessageIn, MlsMessageOut,
    ProcessedMessageContent, ProtocolVersion, Welcome,
};
use openmls_traits::OpenMlsProvider;
use rand_core::Rng;

pub use self::provider::{Crypto, Ed25519Signer, Provider};
use self::world::{Created, Grown, Values, World, bytes, create_group, join, load, random, text};
use crate::workload::{Digest, Family, Workload};

/// Bytes in an application message.
const MESSAGE: usize = 256;

/// The parameters that are listed; any other can be asked for by name.
const LISTED: [u64; 4] = [0, 1, 8, 32];

/// The parameters of operations that need somebody besides the creator.
const LISTED_WITH_OTHERS: [u64; 3] = [1, 8, 32];

/// Larger groups take hours to set up.
const MOST: u64 = 10_000;

/// The operations in which somebody besides the creator receives.
const NEED_OTHERS: [&str; 3] = ["join_welcome", "ingest_app_message", "ingest_commit"];

/// The operations of the default ciphersuite, and those of AES-128-GCM which are not listed.
pub(super) fn families() -> Vec<Family> {
    let mut families = Vec::new();
    for (suffix, ciphersuite) in ["", "_aes128gcm"].into_iter().zip(provider::CIPHERSUITES) {
        let mut family = |name: &str, listed: &[u64], build: fn(&str, Ciphersuite, u64) -> Workload| {
            let base = format!("{name}{suffix}");
            let listed = if suffix.is_empty() { listed } else { &[] };
            let named = base.clone();
            let family = Family::new(&base, listed, move |n| {
                build(&format!("{named}/{n}"), ciphersuite, n).family("mls").implementation("openmls 0.9")
            })
            .at_most(MOST, "each member is set up by a join of its own");
            families.push(if NEED_OTHERS.contains(&name) { family.at_least(1, NOBODY) } else { family });
        };
        family("create_group", &LISTED, create_group_workload);
        family("validate_key_packages", &LISTED_WITH_OTHERS, validate_key_packages);
        family("join_welcome", &LISTED_WITH_OTHERS, join_welcome);
        family("send_app_message", &LISTED, send_app_message);
        family("ingest_app_message", &LISTED_WITH_OTHERS, ingest_app_message);
        family("ingest_commit", &LISTED_WITH_OTHERS, ingest_commit);
        family("self_update_commit", &LISTED, self_update_commit);
    }
    families
}

/// How many different worlds the iterations take turns in, so that none is learnt by heart.
fn worlds(others: u64) -> u64 {
    if others <= 64 { 8 } else { 2 }
}

/// The world whose turn it is.
fn turn<T>(worlds: &[T], index: u64) -> &T {
    &worlds[(index % worlds.len() as u64) as usize]
}

/// Streams of randomness: [`world::World`]s take the first, iterations those above.
const ITERATIONS: u64 = 1 << 20;

fn all_worlds(ciphersuite: Ciphersuite, others: u64, seed: u64) -> Result<Vec<World>, String> {
    (0..worlds(others)).map(|w| World::new(ciphersuite, others, seed, 4 * w)).collect()
}

fn all_grown(ciphersuite: Ciphersuite, others: u64, seed: u64) -> Result<Seeded<Grown>, String> {
    let grow = |(w, world): (usize, World)| world.grow(seed, 4 * w as u64 + 1);
    let grown = all_worlds(ciphersuite, others, seed)?.into_iter().enumerate().map(grow).collect::<Result<_, _>>()?;
    Ok(Seeded { seed, worlds: grown })
}

struct Seeded<W> {
    seed: u64,
    worlds: Vec<W>,
}

impl<W> Seeded<W> {
    fn turn(&self, index: u64) -> &W {
        turn(&self.worlds, index)
    }

    fn provider(&self, index: u64, values: Values) -> Provider {
        Provider::new(random(self.seed, ITERATIONS + index), values)
    }
}

impl Seeded<Grown> {
    /// The creator's group, loaded anew.
    fn creator(&self, index: u64) -> Result<Loaded, String> {
        Loaded::new(self.provider(index, self.turn(index).creator_values.clone()))
    }

    /// The first joiner's group, loaded anew.
    fn first(&self, index: u64) -> Result<Loaded, String> {
        let values = self.turn(index).first_values.clone().ok_or(NOBODY)?;
        Loaded::new(self.provider(index, values))
    }
}

const NOBODY: &str = "nobody was added to the group, so nobody can receive";

struct Loaded {
    provider: Provider,
    group: MlsGroup,
}

impl Loaded {
    fn new(provider: Provider) -> Result<Self, String> {
        let group = load(&provider)?;
        Ok(Self { provider, group })
    }
}

/// OpenMLS spreads work over rayon, which leaves the thread whose clock and counts decide. A pool of
/// the current thread alone keeps it here.
#[cfg(not(target_arch = "wasm32"))]
fn on_this_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread_local! {
        static POOL: rayon::ThreadPool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build()
            .expect("a thread that is in no rayon pool can have one of its own");
    }
    POOL.with(|pool| pool.install(work))
}

#[cfg(target_arch = "wasm32")]
fn on_this_thread<R>(work: impl FnOnce() -> R) -> R {
    work()
}

fn create_group_workload(name: &str, ciphersuite: Ciphersuite, others: u64) -> Workload {
    struct Input {
        provider: Provider,
        world: Arc<World>,
    }
    Workload::operation(
        name,
        move |seed| {
            let worlds = all_worlds(ciphersuite, others, seed)?.into_iter().map(Arc::new).collect();
            Ok(Seeded { seed, worlds })
        },
        |state: &Seeded<Arc<World>>, index| {
            let provider = state.provider(index, Values::new());
            Ok(Input { provider, world: state.turn(index).clone() })
        },
        |Input { provider, world }| {
            on_this_thread(|| create_group(provider, world.ciphersuite, &world.creator, &world.key_packages))
        },
        move |_, _, created: &Result<Created, String>| {
            let Created { group, messages } = created.as_ref().map_err(Clone::clone)?;
            let members = group.members().count() as u64;
            if members != others + 1 {
                return Err(format!("the group has {members} members, {} were expected", others + 1));
            }
            let mut digest = Digest::of(group.epoch_authenticator().as_slice());
            for message in messages.iter().flat_map(|(commit, welcome)| [commit, welcome]) {
                digest = digest.with(&bytes(message)?);
            }
            Ok(digest)
        },
    )
}

fn validate_key_packages(name: &str, ciphersuite: Ciphersuite, others: u64) -> Workload {
    struct Input {
        provider: Provider,
        packages: Vec<KeyPackageIn>,
    }
    Workload::operation(
        name,
        move |seed| Ok(Seeded { seed, worlds: all_worlds(ciphersuite, others, seed)? }),
        |state: &Seeded<World>, index| {
            let packages = state.turn(index).key_packages.iter().cloned().map(KeyPackageIn::from).collect();
            Ok(Input { provider: state.provider(index, Values::new()), packages })
        },
        |Input { provider, packages }| {
            let validate = |package: KeyPackageIn| package.validate(provider.crypto(), ProtocolVersion::Mls10);
            packages.drain(..).map(validate).collect::<Result<Vec<KeyPackage>, _>>()
        },
        |state, index, validated| {
            let validated = validated.as_ref().map_err(|error| text("validating")(error))?;
            let sent = &state.turn(index).key_packages;
            if validated != sent {
                return Err("the validated key packages are not those that were sent".to_owned());
            }
            let encoded = validated.tls_serialize_detached().map_err(|error| text("encoding key packages")(&error))?;
            Ok(Digest::of(&encoded))
        },
    )
}

fn join_welcome(name: &str, ciphersuite: Ciphersuite, others: u64) -> Workload {
    struct Input {
        provider: Provider,
        welcome: Option<Welcome>,
    }
    Workload::operation(
        name,
        move |seed| all_grown(ciphersuite, others, seed),
        |state: &Seeded<Grown>, index| {
            let grown = state.turn(index);
            let joiner = grown.world.first.as_ref().ok_or(NOBODY)?;
            let welcome = Some(grown.welcome.clone().ok_or(NOBODY)?);
            Ok(Input { provider: state.provider(index, joiner.clone()), welcome })
        },
        |Input { provider, welcome }| {
            let welcome = welcome.take().ok_or_else(|| "the Welcome was used up".to_owned())?;
            on_this_thread(|| join(provider, welcome))
        },
        |state, index, joined| same_epoch(joined.as_ref().map_err(Clone::clone)?, &state.turn(index).authenticator),
    )
}

/// The fingerprint of a group's epoch, which must be the creator's.
fn same_epoch(group: &MlsGroup, creators: &[u8]) -> Result<Digest, String> {
    let authenticator = group.epoch_authenticator().as_slice();
    if authenticator == creators {
        Ok(Digest::of(authenticator))
    } else {
        Err("the member's epoch is not the creator's".to_owned())
    }
}

/// The application message of an iteration.
fn plaintext(seed: u64, index: u64) -> Vec<u8> {
    let mut message = vec![0; MESSAGE];
    random(seed, ITERATIONS + (1 << 40) + index).fill_bytes(&mut message);
    message
}

fn send(loaded: &mut Loaded, creator: &world::Member, message: &[u8]) -> Result<MlsMessageOut, String> {
    let Loaded { provider, group } = loaded;
    group.create_message(provider, &creator.signer, message).map_err(|error| text("sending")(&error))
}

fn receive(loaded: &mut Loaded, message: &[u8]) -> Result<Vec<u8>, String> {
    let processed = process(loaded, message)?;
    match processed {
        ProcessedMessageContent::ApplicationMessage(message) => Ok(message.into_bytes()),
        _ => Err("receiving: it is no application message".to_owned()),
    }
}

fn process(loaded: &mut Loaded, message: &[u8]) -> Result<ProcessedMessageContent, String> {
    let Loaded { provider, group } = loaded;
    let message = MlsMessageIn::tls_deserialize_exact_bytes(message).map_err(|error| text("reading")(&error))?;
    let message = message.try_into_protocol_message().map_err(|error| text("reading")(&error))?;
    let processed = group.process_message(provider, message).map_err(|error| text("receiving")(&error))?;
    Ok(processed.into_content())
}

fn send_app_message(name: &str, ciphersuite: Ciphersuite, others: u64) -> Workload {
    struct Input {
        loaded: Loaded,
        creator: Arc<world::Member>,
        message: Vec<u8>,
    }
    Workload::operation(
        name,
        move |seed| all_grown(ciphersuite, others, seed),
        |state: &Seeded<Grown>, index| {
            let creator = state.turn(index).world.creator.clone();
            Ok(Input { loaded: state.creator(index)?, creator, message: plaintext(state.seed, index) })
        },
        |Input { loaded, creator, message }| send(loaded, creator, message),
        |state, index, sent| {
            let sent = bytes(sent.as_ref().map_err(Clone::clone)?)?;
            if state.turn(index).first_values.is_some()
                && receive(&mut state.first(index)?, &sent)? != plaintext(state.seed, index)
            {
                return Err("the first member reads another message than was sent".to_owned());
            }
            Ok(Digest::of(&sent))
        },
    )
}

fn ingest_app_message(name: &str, ciphersuite: Ciphersuite, others: u64) -> Workload {
    struct Input {
        loaded: Loaded,
        message: Vec<u8>,
    }
    Workload::operation(
        name,
        move |seed| all_grown(ciphersuite, others, seed),
        |state: &Seeded<Grown>, index| {
            let loaded = state.first(index)?;
            let creator = &state.turn(index).world.creator;
            let sent = send(&mut state.creator(index)?, creator, &plaintext(state.seed, index))?;
            Ok(Input { loaded, message: bytes(&sent)? })
        },
        |Input { loaded, message }| receive(loaded, message),
        |state, index, received| {
            let received = received.as_ref().map_err(Clone::clone)?;
            if *received == plaintext(state.seed, index) {
                Ok(Digest::of(received))
            } else {
                Err("the message read is not the one that was sent".to_owned())
            }
        },
    )
}

/// A commit that refreshes the creator's path, merged by the creator.
fn self_update(loaded: &mut Loaded, creator: &world::Member) -> Result<MlsMessageOut, String> {
    let Loaded { provider, group } = loaded;
    let bundle = group
        .self_update(provider, &creator.signer, LeafNodeParameters::default())
        .map_err(|error| text("updating")(&error))?;
    group.merge_pending_commit(provider).map_err(|error| text("merging the commit")(&error))?;
    Ok(bundle.into_commit())
}

fn self_update_commit(name: &str, ciphersuite: Ciphersuite, others: u64) -> Workload {
    struct Input {
        loaded: Loaded,
        creator: Arc<world::Member>,
    }
    Workload::operation(
        name,
        move |seed| all_grown(ciphersuite, others, seed),
        |state: &Seeded<Grown>, index| {
            Ok(Input { loaded: state.creator(index)?, creator: state.turn(index).world.creator.clone() })
        },
        |Input { loaded, creator }| {
            on_this_thread(|| self_update(loaded, creator)).map(|commit| (commit, authenticator(loaded)))
        },
        |state, index, updated| {
            let (commit, authenticator) = updated.as_ref().map_err(Clone::clone)?;
            if *authenticator == state.turn(index).authenticator {
                return Err("the epoch did not change".to_owned());
            }
            Ok(Digest::of(&bytes(commit)?).with(authenticator))
        },
    )
}

fn authenticator(loaded: &Loaded) -> Vec<u8> {
    loaded.group.epoch_authenticator().as_slice().to_vec()
}

fn ingest_commit(name: &str, ciphersuite: Ciphersuite, others: u64) -> Workload {
    struct State {
        grown: Seeded<Grown>,
        /// Per world: the creator's next commit, and its epoch after it.
        commits: Vec<(Vec<u8>, Vec<u8>)>,
    }
    struct Input {
        loaded: Loaded,
        commit: Vec<u8>,
    }
    Workload::operation(
        name,
        move |seed| {
            let grown = all_grown(ciphersuite, others, seed)?;
            let commit = |w: usize| {
                let mut loaded = grown.creator(w as u64)?;
                let commit = self_update(&mut loaded, &grown.worlds[w].world.creator)?;
                Ok((bytes(&commit)?, authenticator(&loaded)))
            };
            let commits = on_this_thread(|| (0..grown.worlds.len()).map(commit).collect::<Result<_, String>>())?;
            Ok(State { grown, commits })
        },
        |state: &State, index| {
            Ok(Input { loaded: state.grown.first(index)?, commit: turn(&state.commits, index).0.clone() })
        },
        |Input { loaded, commit }| {
            on_this_thread(|| match process(loaded, commit)? {
                ProcessedMessageContent::StagedCommitMessage(staged) => loaded
                    .group
                    .merge_staged_commit(&loaded.provider, *staged)
                    .map_err(|error| text("merging the commit")(&error)),
                _ => Err("receiving: it is no commit".to_owned()),
            })?;
            Ok::<_, String>(authenticator(loaded))
        },
        |state, index, received| {
            let received = received.as_ref().map_err(Clone::clone)?;
            if *received == turn(&state.commits, index).1 {
                Ok(Digest::of(received))
            } else {
                Err("the member's epoch is not the creator's".to_owned())
            }
        },
    )
}

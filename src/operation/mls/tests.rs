use crate::boundary::{self, Counts};
use crate::operation;
use crate::workload::Digest;

/// Counts and output of one iteration.
fn run(name: &str, seed: u64, index: u64) -> (Counts, Digest) {
    let suite = operation::builtin();
    let workload = suite.resolve(name).unwrap_or_else(|| panic!("{name} is no workload"));
    let mut fixture = workload.fixture(seed).unwrap();
    fixture.load(index..index + 1).unwrap();
    let ((), counts) = boundary::count(|| fixture.run());
    (counts, fixture.unload().unwrap())
}

fn counts(name: &str) -> Counts {
    run(name, 1, 0).0
}

/// Depth of the ratchet tree with `n` members besides the creator.
fn depth(n: u64) -> u64 {
    u64::from((n + 1).next_power_of_two().trailing_zeros())
}

#[test]
fn creating_a_group_counts_by_formula() {
    for n in [1, 2, 5, 8] {
        let counts = counts(&format!("create_group/{n}"));
        let d = depth(n);
        assert_eq!(counts.of("x25519_dh"), n, "one shared secret for each Welcome");
        assert_eq!(counts.of("x25519_base"), n + d + 3);
        assert_eq!((counts.of("ed25519_sign"), counts.of("ed25519_verify")), (5, 0));
        assert_eq!(counts.of("hkdf_sha256_extract"), 5 * n + d + 7);
        assert_eq!(counts.of("hkdf_sha256_expand"), 5 * n + 3 * d + 36);
        // Tree hashes of a full tree of 2^d leaves, blanks included, and a reference per key package. With assertions
        // compiled in, OpenMLS hashes trees again to check them: the manifest leaves them out of dependencies.
        assert_eq!(counts.of("sha256"), 6 * (1 << d) + 2 * n);
        assert_eq!(counts.of("chacha20poly1305_seal"), n + 3);
    }
}

#[test]
fn a_group_of_one_needs_one_key_pair_and_one_signature() {
    let counts = counts("create_group/0");
    assert_eq!((counts.of("x25519_base"), counts.of("x25519_dh"), counts.of("ed25519_sign")), (1, 0, 1));
    assert_eq!((counts.of("hkdf_sha256_extract"), counts.of("hkdf_sha256_expand"), counts.of("sha256")), (3, 13, 2));
}

#[test]
fn joining_checks_every_leaf_and_the_group_info() {
    for n in [1, 8] {
        let counts = counts(&format!("join_welcome/{n}"));
        assert_eq!(counts.of("x25519_dh"), 1);
        assert_eq!(counts.of("ed25519_verify"), n + 2);
        assert_eq!(counts.of("chacha20poly1305_open"), 2);
    }
}

#[test]
fn sending_signs_once_and_multiplies_no_point_besides() {
    for n in [0, 8] {
        let counts = counts(&format!("send_app_message/{n}"));
        assert_eq!((counts.of("ed25519_sign"), counts.of("chacha20poly1305_seal")), (1, 2));
        for curve in ["x25519_dh", "x25519_base", "ed25519_verify", "ed25519_keygen"] {
            assert_eq!(counts.of(curve), 0, "{curve}");
        }
    }
}

#[test]
fn ingesting_verifies_a_message_once_and_a_commit_twice() {
    for n in [1, 8] {
        let message = counts(&format!("ingest_app_message/{n}"));
        assert_eq!((message.of("ed25519_verify"), message.of("chacha20poly1305_open")), (1, 2));
        assert_eq!((message.of("x25519_dh"), message.of("x25519_base")), (0, 0));
        let commit = counts(&format!("ingest_commit/{n}"));
        assert_eq!((commit.of("ed25519_verify"), commit.of("chacha20poly1305_open")), (2, 3));
        assert_eq!(commit.of("x25519_dh"), 1);
        let validated = counts(&format!("validate_key_packages/{n}"));
        assert_eq!(validated.of("ed25519_verify"), 2 * n);
    }
}

#[test]
fn an_update_encrypts_to_every_other_leaf_while_the_tree_has_blanks() {
    for n in [0, 1, 8] {
        let counts = counts(&format!("self_update_commit/{n}"));
        assert_eq!(counts.of("x25519_dh"), n);
    }
}

#[test]
fn the_ciphersuite_changes_the_cipher_alone() {
    for name in ["create_group", "join_welcome", "send_app_message", "ingest_commit"] {
        let [chacha, aes] = ["", "_aes128gcm"].map(|suffix| counts(&format!("{name}{suffix}/3")));
        let rename = |(primitive, calls): (&'static str, u64)| match primitive.strip_prefix("chacha20poly1305") {
            Some(rest) => (format!("aes128gcm{rest}"), calls),
            None => (primitive.to_owned(), calls),
        };
        let renamed: Vec<_> = chacha.outermost.into_iter().map(rename).collect();
        let aes: Vec<_> = aes.outermost.into_iter().map(|(name, calls)| (name.to_owned(), calls)).collect();
        assert_eq!(renamed, aes, "{name}");
    }
}

#[test]
fn the_same_seed_and_index_count_and_output_the_same() {
    for name in ["create_group/2", "join_welcome/2", "send_app_message/2", "self_update_commit/2", "ingest_commit/2"] {
        let (first, again, other) = (run(name, 3, 5), run(name, 3, 5), run(name, 4, 5));
        assert_eq!((&first.0.outermost, first.1), (&again.0.outermost, again.1), "{name}");
        assert_eq!(first.0.outermost, other.0.outermost, "{name}");
        assert_ne!(first.1, other.1, "{name}");
    }
}

#[test]
fn every_call_stays_on_the_measured_thread() {
    for name in ["create_group/8", "self_update_commit/8", "ingest_commit/8"] {
        let (here, _) = run(name, 1, 0);
        let elsewhere = std::thread::spawn(move || counts(name)).join().unwrap();
        assert_eq!(here.outermost, elsewhere.outermost, "{name}");
    }
}

#[test]
fn receiving_without_a_receiver_is_an_error() {
    let workload = operation::builtin().resolve("join_welcome/0").unwrap();
    let error = workload.fixture(1).unwrap().load(0..1).unwrap_err();
    assert!(error.contains("nobody can receive"), "{error}");
    let refused = operation::builtin().refuses("join_welcome/0").unwrap();
    assert!(refused.ends_with("nobody can receive: N must be at least 1"), "{refused}");
    let refused = operation::builtin().refuses("create_group/99999999999").unwrap();
    assert!(refused.ends_with("N must be at most 10000"), "{refused}");
    for fine in ["join_welcome/1", "create_group/0", "validate_key_packages/0", "sha256/64"] {
        assert_eq!(operation::builtin().refuses(fine), None);
    }
}

#[test]
fn a_replay_of_everything_gives_the_operations_own_output() {
    let workload = operation::builtin().resolve("create_group/2").unwrap();
    let mut fixture = workload.fixture(1).unwrap();
    fixture.load(0..1).unwrap();
    let ((), recording) = boundary::record(|| fixture.run());
    let recorded = fixture.unload().unwrap();
    fixture.load(0..1).unwrap();
    boundary::replay(&recording, &boundary::Selection::all(), || fixture.run()).unwrap();
    assert_eq!(fixture.unload(), Ok(recorded));
    // Another iteration draws other randomness: what depends on it is on other inputs.
    fixture.load(1..2).unwrap();
    boundary::replay(&recording, &boundary::Selection::all(), || fixture.run()).unwrap_err();
}

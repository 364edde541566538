//! Names for a profile that holds addresses only, from the binaries that it names, where they are the same build.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::symbols::{Binary, hex};
use crate::profile::{Builder, FrameId, Note, Profile, StackSample, facts};

/// The code of the note with which a reader says that frames are addresses.
const ADDRESSES: &str = "not-symbolised";

/// The profile with its addresses named as far as the binaries at hand allow; as it was where it has names.
///
/// A binary is used only where the recording holds its build id and it is the same. A note says how much of the weight
/// was named and what stands in the way of the rest.
pub fn symbolise(profile: Profile) -> Profile {
    if !profile.notes.iter().any(|note| note.code == ADDRESSES) {
        return profile;
    }
    let mut binaries: FxHashMap<&str, Result<Binary, &'static str>> = FxHashMap::default();
    for frame in &profile.frames {
        if let Some(module) = frame.module.as_deref() {
            binaries.entry(module).or_insert_with(|| binary(&profile, module));
        }
    }
    let mut builder = Builder::new(profile.weight_types.clone());
    let threads: Vec<_> = profile.threads.iter().map(|thread| builder.thread(thread)).collect();
    let mut named: FxHashMap<(FrameId, bool), Vec<FrameId>> = FxHashMap::default();
    let mut without_name = 0;
    for sample in &profile.samples {
        let frames = sample.stack.map_or_else(Vec::new, |stack| profile.root_to_leaf(stack));
        let mut stack = None;
        for (at, id) in frames.iter().enumerate() {
            let is_leaf = at + 1 == frames.len();
            let known = named.entry((*id, is_leaf)).or_insert_with(|| {
                let frame = profile.frame(*id);
                let binary = frame.module.as_deref().and_then(|module| binaries[module].as_ref().ok());
                // A caller's address is the one behind the call.
                let address = frame.address.map(|address| address.saturating_sub(u64::from(!is_leaf)));
                let found = binary.zip(address).map_or_else(Vec::new, |(binary, address)| binary.frames(address));
                if found.is_empty() {
                    without_name += 1;
                    return vec![builder.frame(frame.clone())];
                }
                let (module, address) = (&frame.module, frame.address);
                let whole =
                    |named: crate::profile::Frame| crate::profile::Frame { module: module.clone(), address, ..named };
                found.into_iter().map(|frame| builder.frame(whole(frame))).collect()
            });
            for frame in known {
                stack = Some(builder.stack(stack, *frame));
            }
        }
        let thread = sample.thread.map(|thread| threads[thread.0 as usize]);
        builder.sample(StackSample { stack, thread, ..sample.clone() });
    }
    let addresses = named.len();
    let mut missing: Vec<String> =
        binaries.iter().filter_map(|(module, binary)| Some(format!("{module}: {}", binary.as_ref().err()?))).collect();
    missing.sort();
    let mut result = builder.finish();
    result.default_weight = profile.default_weight;
    result.notes =
        profile.notes.into_iter().filter(|note| note.code != ADDRESSES || without_name == addresses).collect();
    if without_name < addresses {
        let why = if missing.is_empty() { String::new() } else { format!(" ({})", missing.join("; ")) };
        let message =
            format!("of {addresses} addresses, those without a name are left as offsets in their module{why}");
        if without_name > 0 {
            result.notes.push(Note { code: "partly-symbolised".into(), message, count: without_name as u64 });
        }
    } else if !missing.is_empty() {
        let message = format!("no binary could be used: {}", missing.join("; "));
        result.notes.push(Note { code: "no-binaries".into(), message, count: missing.len() as u64 });
    }
    result.provenance = profile.provenance;
    result.provenance.facts.retain(|fact, _| !fact.starts_with(facts::BUILD_ID));
    result
}

/// The binary of a module, or why it cannot be used.
fn binary(profile: &Profile, module: &str) -> Result<Binary, &'static str> {
    let Some(expected) = profile.provenance.facts.get(&format!("{}{module}", facts::BUILD_ID)) else {
        return Err("the recording holds no build id of it");
    };
    let binary = Binary::open(Path::new(module)).ok_or("not on this machine")?;
    match binary.build_id() {
        // perf pads shorter ids with zeros.
        Some(id) if expected.trim_end_matches('0') == hex(id).trim_end_matches('0') => Ok(binary),
        Some(_) => Err("another build than the one recorded"),
        None => Err("without a build id"),
    }
}

#[cfg(test)]
mod tests {
    use object::Object;

    use super::*;
    use crate::profile::{Frame, FrameKind, WeightType};

    #[inline(never)]
    fn landmark() -> usize {
        std::hint::black_box(landmark as *const () as usize)
    }

    /// This test's own program, with its build id, and a function's offset in its file.
    fn own() -> Option<(String, String, u64)> {
        let path = std::env::current_exe().unwrap();
        let data = std::fs::read(&path).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let id = file.build_id().unwrap()?;
        let bias = super::super::symbols::loaded_modules()[0].bias;
        let address = landmark() as u64 - bias;
        let segment = object::ObjectSegment::file_range;
        let offset = file.segments().find_map(|part| {
            let start = object::ObjectSegment::address(&part);
            let inside = (start..start + segment(&part).1).contains(&address);
            inside.then(|| address - start + segment(&part).0)
        })?;
        Some((path.display().to_string(), hex(id), offset))
    }

    fn recorded(module: &str, build_id: &str, offset: u64) -> Profile {
        let mut builder = Builder::new(vec![WeightType { name: "cycles".into(), unit: "cycles".into() }]);
        let frame = |builder: &mut Builder, offset: u64| {
            let function = format!("0x{offset:x}");
            builder.frame(Frame { function, module: Some(module.into()), address: Some(offset), ..Frame::default() })
        };
        // The caller's address is the one behind its call: here, the function's second byte and the one past its start.
        let frames = [frame(&mut builder, offset + 1), frame(&mut builder, offset)];
        let stack = builder.stack_of(frames);
        builder.sample(StackSample { stack, thread: None, time_ns: None, count: Some(1), weights: vec![7.0] });
        builder.note(ADDRESSES, "addresses", 1);
        builder.provenance().facts.insert(format!("{}{module}", facts::BUILD_ID), build_id.into());
        builder.finish()
    }

    #[test]
    fn the_same_build_gives_names_and_another_does_not() {
        let Some((path, id, offset)) = own() else {
            println!("skipped: the test program has no build id");
            return;
        };
        let profile = symbolise(recorded(&path, &id, offset));
        let name = format!("{}::landmark", module_path!());
        let stack = profile.root_to_leaf(profile.samples[0].stack.unwrap());
        // An optimised build has more inlined into it.
        let mut physical =
            stack.iter().map(|frame| profile.frame(*frame)).filter(|frame| frame.kind == FrameKind::Plain);
        assert!(physical.all(|frame| frame.function == name), "{:?}", profile.frames);
        assert_eq!((profile.total(0), profile.notes.len()), (7.0, 0));

        let other = symbolise(recorded(&path, "00ff", offset));
        assert_eq!(other.frames[0].function, format!("0x{:x}", offset + 1));
        assert!(other.notes.iter().any(|note| note.message.contains("another build")), "{:?}", other.notes);
        let absent = symbolise(recorded("/no/such/file", &id, offset));
        assert!(absent.notes.iter().any(|note| note.message.contains("not on this machine")), "{:?}", absent.notes);
    }
}

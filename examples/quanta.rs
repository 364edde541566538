//! Runs quanta of the primitives on request, so that another program can time native code in turn with
//! other runtimes. A line in, `NAME FIRST COUNT`; a line out, the nanoseconds of thread CPU time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{BufRead, Write};

use countercheck::harness::clock::thread_cpu_ns;
use countercheck::operation;
use countercheck::workload::Fixture;

/// The seed that the page uses, so that both run the same inputs.
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let suite = operation::builtin();
    let mut fixtures: HashMap<String, Box<dyn Fixture>> = HashMap::new();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let [name, first, count] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(format!("found {line:?}; expected NAME FIRST COUNT").into());
        };
        let (first, count): (u64, u64) = (first.parse()?, count.parse()?);
        let fixture = match fixtures.entry(name.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let workload = suite.resolve(name).ok_or_else(|| format!("no workload is called {name}"))?;
                place.insert(workload.fixture(SEED)?)
            }
        };
        fixture.load(first..first + count)?;
        let start = thread_cpu_ns();
        fixture.run();
        let elapsed = thread_cpu_ns() - start;
        fixture.unload()?;
        writeln!(out, "{elapsed}")?;
        out.flush()?;
    }
    Ok(())
}

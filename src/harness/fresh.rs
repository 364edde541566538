//! Fresh processes: the program runs itself again to measure rows, and reads their measurements.
//!
//! The child gets a [`Job`] on its standard input and answers with a line of JSON an event on its
//! standard output. Memory layout, hash seeds and page placement are drawn anew in each; the size of the
//! environment is varied as well, because it moves the stack.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use super::clock::wall_ns;
use super::run::{self, AllocationPass};
use super::{aa, calibrate};
use crate::record::{ClockCalibration, Measurement, Variant};
use crate::stats::resample::{below, shuffle};
use crate::workload::{Suite, Workload};

/// The hidden subcommand of a child.
pub const SUBCOMMAND: &str = "__measure";

/// A row to measure: workload and variant, and its part of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowJob {
    /// Place of the row in the run's list.
    pub row: usize,
    /// The workload's name.
    pub name: String,
    /// The variant.
    pub variant: Variant,
    /// Its part of the process's time, relative to the others.
    pub weight: f64,
}

/// What one process is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The process's number.
    pub process: u32,
    /// Seed of the inputs.
    pub seed: u64,
    /// Seed of the order of rows and of stack depths.
    pub order_seed: u64,
    /// Wall time for all rows together, in nanoseconds.
    pub budget_ns: u64,
    /// Whether allocations are counted.
    pub allocation: AllocationPass,
    /// The rows, in any order.
    pub rows: Vec<RowJob>,
}

/// What a child reports, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Its clocks, once.
    Clock(ClockCalibration),
    /// It begins a row.
    Started(usize),
    /// It measured a row, which took this much wall time in all.
    Measured {
        /// The row.
        row: usize,
        /// Wall time spent on it, set-up and checks included, in nanoseconds.
        spent_ns: u64,
        /// What was measured.
        measurement: Measurement,
    },
    /// A row failed.
    Failed {
        /// The row.
        row: usize,
        /// Why.
        message: String,
    },
    /// It is done.
    Done,
}

/// How the program is run again: always the one that is running, whatever has become of its file.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Where the program was when it started.
    program: PathBuf,
    /// Which file that was.
    file: FileIdentity,
}

/// What tells a file from the one that a build puts in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileIdentity {
    modified: Option<SystemTime>,
    bytes: u64,
    #[cfg(unix)]
    inode: (u64, u64),
}

impl FileIdentity {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Self {
            modified: metadata.modified().ok(),
            bytes: metadata.len(),
            #[cfg(unix)]
            inode: {
                use std::os::unix::fs::MetadataExt;
                (metadata.dev(), metadata.ino())
            },
        })
    }
}

/// The program that is running, by a name that still means it when its file was replaced.
const THIS_IMAGE: Option<&str> = if cfg!(target_os = "linux") { Some("/proc/self/exe") } else { None };

impl Launcher {
    /// This program itself.
    ///
    /// # Errors
    ///
    /// Where its file cannot be found.
    pub fn this_program() -> io::Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self { file: FileIdentity::of(&program)?, program })
    }

    /// Whether another file is now where the program was, as after a build.
    pub fn was_replaced(&self) -> bool {
        !FileIdentity::of(&self.program).is_ok_and(|file| file == self.file)
    }

    /// The command that starts the program again. Where there is no name for the running image, a replaced
    /// file is an error: two programs in one record would be compared as one.
    fn command(&self) -> io::Result<Command> {
        match THIS_IMAGE {
            Some(image) if Path::new(image).exists() => Ok(Command::new(image)),
            _ if self.was_replaced() => Err(io::Error::other(format!(
                "program-replaced: {} is not the file that began this run; build first, then measure again",
                self.program.display()
            ))),
            _ => Ok(Command::new(&self.program)),
        }
    }

    /// Runs a job in a fresh process and passes its events on. Returns how the process ended: `Ok(None)`
    /// where it did all, else what went wrong.
    pub fn run(&self, job: &Job, on_event: &mut dyn FnMut(Event)) -> io::Result<Option<String>> {
        let mut random = ChaCha8Rng::seed_from_u64(job.order_seed ^ 0xe4f);
        let mut child = self
            .command()?
            .arg(SUBCOMMAND)
            .env("COUNTERCHECK_PAD", "x".repeat(below(&mut random, 4_096)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        // A child that dies early closes the pipe; its exit status tells more than this error.
        let sent = child.stdin.take().map(|mut stdin| stdin.write_all(&serde_json::to_vec(job)?));
        let mut done = false;
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).split(b'\n') {
                match serde_json::from_slice(&line?) {
                    Ok(Event::Done) => done = true,
                    Ok(event) => on_event(event),
                    // What a workload prints itself is none of ours.
                    Err(_) => {}
                }
            }
        }
        let status = child.wait()?;
        if done {
            return Ok(None);
        }
        match sent {
            Some(Err(error)) if status.success() => Err(error),
            _ => Ok(Some(format!("the process ended early: {status}"))),
        }
    }
}

/// The child's side: reads a job from standard input, measures, and writes events to standard output.
pub fn serve(suite: &Suite) -> io::Result<()> {
    keep_the_heap();
    let job: Job = serde_json::from_reader(io::stdin().lock())?;
    let mut out = private_output()?;
    let mut send = |event: &Event| -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        out.write_all(&line)?;
        out.flush()
    };
    let clock = calibrate::calibrate();
    send(&Event::Clock(clock))?;
    let mut left_ns = job.budget_ns;
    let mut random = ChaCha8Rng::seed_from_u64(job.order_seed);
    let mut rows = job.rows;
    shuffle(&mut random, &mut rows);
    let mut settings =
        run::Settings { seed: job.seed, budget: Duration::ZERO, allocation: AllocationPass::Skip, clock };
    // The warm-up row is measured like any other, and discarded.
    settings.budget = Duration::from_millis(20).min(Duration::from_nanos(job.budget_ns / 10));
    let _ = run::measure(&aa::workload(), Variant::Throughput, &settings, &mut random);
    settings.allocation = job.allocation;
    let mut weight_left: f64 = rows.iter().map(|row| row.weight).sum();
    for (position, row) in rows.iter().enumerate() {
        send(&Event::Started(row.row))?;
        let start = wall_ns();
        let part = row.weight / weight_left;
        weight_left -= row.weight;
        let slice_ns = (left_ns as f64 * part) as u64;
        settings.budget = Duration::from_nanos(slice_ns);
        let measured = match find(suite, &row.name) {
            Some(workload) => run::measure(&workload, row.variant, &settings, &mut random),
            None => Err(aa::workload().error(format!("no workload {:?} in this program", row.name))),
        };
        let spent_ns = wall_ns() - start;
        // A row whose set-up alone takes longer than its part does not take it from the others.
        left_ns = left_ns.saturating_sub(spent_ns.min(2 * slice_ns));
        send(&match measured {
            Ok(measurement) => Event::Measured {
                row: row.row,
                spent_ns,
                measurement: Measurement { process: job.process, position: position as u32, ..measurement },
            },
            Err(error) => Event::Failed { row: row.row, message: error.message },
        })?;
    }
    send(&Event::Done)
}

/// A workload of the suite, or one of the harness's own.
fn find(suite: &Suite, name: &str) -> Option<Workload> {
    suite.resolve(name).or_else(|| super::selfcheck::workload(name))
}

/// Standard output for events alone: what a workload prints goes to standard error from here on.
#[cfg(unix)]
fn private_output() -> io::Result<impl Write> {
    use std::os::fd::FromRawFd;

    // SAFETY: the descriptors 1 and 2 are open in a child of ours, and the copy is owned by the file alone.
    unsafe {
        let copy = libc::dup(1);
        if copy < 0 || libc::dup2(2, 1) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(std::fs::File::from_raw_fd(copy))
    }
}

/// Standard output; a workload that prints would disturb the events.
#[cfg(not(unix))]
fn private_output() -> io::Result<impl Write> {
    Ok(io::stdout().lock())
}

/// Keeps freed memory in the process. Otherwise the outputs of a batch go back to the system after each,
/// and the next batch pays for page faults that are no part of the body.
fn keep_the_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` changes parameters of the allocator and is called before other threads exist.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 30);
    }
}

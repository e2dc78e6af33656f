//! What is seen while an experiment goes on: bars on a terminal, nothing elsewhere; and how it is stopped.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use straddle::bench::run::Watch;
use straddle::bench::session::Beginning;
use straddle::geometry::Bytes;
use straddle::report::escape::terminal;

/// How often a signal is looked for, and a bar is redrawn.
const TICK: Duration = Duration::from_millis(100);
/// How often the machine is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Whoever sits before the experiment: sees how it goes on, and can stop it.
pub(super) struct Console {
    shown: bool,
    /// Set by a signal.
    pub(super) stop: Arc<AtomicBool>,
    /// The run under way, which is stopped by it.
    pub(super) watch: Watch,
}

impl Console {
    pub(super) fn new(quiet: bool) -> anyhow::Result<Console> {
        Ok(Console {
            shown: !quiet && std::io::stderr().is_terminal(),
            stop: crate::interrupts::interrupts()?,
            watch: Watch::default(),
        })
    }

    fn bar(&self, len: u64, template: &str) -> ProgressBar {
        if !self.shown {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new(len);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }

    /// A bar for the filling of a test file.
    pub(super) fn filling(&self, path: &Path, size: Bytes) -> Filling {
        let bar = self.bar(
            size.get(),
            "filling {msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
        );
        let name = path.file_name().unwrap_or_default();
        bar.set_message(terminal(&name.to_string_lossy()).into_owned());
        Filling(bar)
    }

    /// Shows runs while `work` makes them, passes a signal on to the run under way, and looks around once a second.
    pub(super) fn runs<T>(&self, look: impl Fn() + Sync, work: impl FnOnce(&Runs) -> T) -> T {
        let runs = Runs {
            bar: self.bar(0, "{bar:20} run {pos} of {len} {msg}"),
            now: Mutex::new(Now::default()),
        };
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut looked = Instant::now();
                while !done.load(Ordering::Relaxed) {
                    if self.stop.load(Ordering::Relaxed) {
                        self.watch.stop.store(true, Ordering::Relaxed);
                    }
                    runs.draw(&self.watch);
                    if looked.elapsed() >= LOOK {
                        looked = Instant::now();
                        look();
                    }
                    thread::park_timeout(TICK);
                }
            });
            let result = work(&runs);
            done.store(true, Ordering::Relaxed);
            runs.bar.finish_and_clear();
            result
        })
    }
}

/// The filling of a test file.
pub(super) struct Filling(ProgressBar);

impl Filling {
    pub(super) fn at(&self, bytes: Bytes) {
        self.0.set_position(bytes.get());
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The runs of an experiment.
pub(super) struct Runs {
    bar: ProgressBar,
    now: Mutex<Now>,
}

/// The run under way.
#[derive(Default)]
struct Now {
    what: String,
    left: Option<Duration>,
    /// Figures of the watch when they were looked at last.
    seen: Option<(Instant, u64, u64)>,
    live: String,
}

impl Runs {
    /// A run begins.
    pub(super) fn begin(&self, run: Beginning<'_>, budget: Option<Duration>) {
        let each = run.task.warm_up.saturating_add(run.task.measured);
        let ahead = u32::try_from(run.expected.saturating_sub(run.made)).unwrap_or(u32::MAX);
        let mut left = each.saturating_mul(ahead);
        if let Some(budget) = budget {
            left = left.min(budget.saturating_sub(run.elapsed).max(each));
        }
        self.bar.set_length(run.expected.max(run.made + 1));
        self.bar.set_position(run.made + 1);
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.what = format!("at {}", terminal(&run.task.offset.to_string()));
        now.left = Some(left);
        now.seen = Some((Instant::now(), 0, 0));
    }

    fn draw(&self, watch: &Watch) {
        if self.bar.is_hidden() {
            return;
        }
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.what.is_empty() {
            return;
        }
        let requests = watch.requests.load(Ordering::Relaxed);
        let nanoseconds = watch.nanoseconds.load(Ordering::Relaxed);
        if let Some((then, requests_then, nanoseconds_then)) = now.seen {
            let ended = requests.saturating_sub(requests_then);
            let took = then.elapsed();
            if ended > 0 && took >= Duration::from_millis(200) {
                let rate = u128::from(ended) * 1_000_000_000 / took.as_nanos().max(1);
                let mean = nanoseconds.saturating_sub(nanoseconds_then) / ended;
                let mean = Duration::from_nanos(mean);
                now.live = format!(
                    "{} IOPS, {:.3} ms",
                    Bytes::new(u64::try_from(rate).unwrap_or(u64::MAX)).grouped(),
                    mean.as_secs_f64() * 1e3
                );
                now.seen = Some((Instant::now(), requests, nanoseconds));
            }
        }
        let left = now.left.map_or(0, |left| left.as_secs());
        self.bar.set_message(format!(
            "{} {}, {}:{:02} left",
            now.what,
            now.live,
            left / 60,
            left % 60
        ));
    }
}

//! What is seen while data move: a bar for each phase on a terminal, nothing elsewhere; and how it is stopped.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
#[cfg(target_os = "linux")]
use straddle::realign::{Phase, Progress};

/// Whoever sits before it.
pub(super) struct Console {
    bar: ProgressBar,
    #[cfg(target_os = "linux")]
    phase: Option<Phase>,
    stop: Arc<AtomicBool>,
}

impl Console {
    pub(super) fn new() -> anyhow::Result<Console> {
        let bar = match std::io::stderr().is_terminal() {
            true => ProgressBar::new(0),
            false => ProgressBar::hidden(),
        };
        let template = "{msg:22} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Ok(Console {
            bar,
            #[cfg(target_os = "linux")]
            phase: None,
            stop: crate::interrupts::interrupts()?,
        })
    }

    #[cfg(target_os = "linux")]
    /// Shows how far it is, and says whether to go on.
    pub(super) fn watch(&mut self, progress: Progress) -> ControlFlow<()> {
        if self.phase != Some(progress.phase) {
            self.phase = Some(progress.phase);
            self.bar.reset();
            self.bar.set_message(words(progress.phase));
            self.bar.set_length(progress.of.get());
            // What an earlier run did is no part of this one's rate.
            self.bar.set_position(progress.done.get());
            self.bar.reset_eta();
        }
        self.bar.set_position(progress.done.get());
        self.go_on()
    }

    /// The same for a copy, which has one phase.
    pub(super) fn copied(&mut self, done: u64, of: u64) -> ControlFlow<()> {
        if self.bar.length() != Some(of) {
            self.bar.set_message("writing the new file");
            self.bar.set_length(of);
        }
        self.bar.set_position(done);
        self.go_on()
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn go_on(&self) -> ControlFlow<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

#[cfg(target_os = "linux")]
fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Verifying => "comparing with journal",
        Phase::Moving => "moving",
        Phase::ReadingBack => "reading back",
        Phase::Editing => "writing the table",
        Phase::UndoingEdits => "undoing the table",
        Phase::MovingBack => "moving back",
        Phase::RestoringFreeSpace => "restoring free space",
    }
}

use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::time::Duration;
use straddle::report::escape::terminal;

/// What is seen while it takes longer than a moment: a line on a terminal, nothing elsewhere.
pub(super) struct Screen(ProgressBar);

impl Screen {
    pub(super) fn new() -> Screen {
        if !std::io::stderr().is_terminal() {
            return Screen(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(200));
        Screen(bar)
    }

    pub(super) fn step(&self, what: &str) {
        self.0
            .set_message(format!("simulating: {}", terminal(what)));
    }

    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

//! Captured text by the machine that it is about.

use std::path::PathBuf;

use super::checker::{Checker, Sight};
use super::{Outcome, Report, text};
use crate::rules::Why;
use crate::sources::captured::{self, Capture, Server};
use crate::stack::Stack;

impl Checker {
    /// One target for each machine of a text.
    pub(super) fn machines(&self, captures: Vec<Capture>) -> Vec<Report> {
        let servers = captured::of_one(captures).into_iter();
        servers
            .map(|server| self.server(names(&server.captures), server))
            .collect()
    }

    /// What was collected of one machine.
    pub(super) fn machine(&self, name: String, paths: &[PathBuf]) -> Report {
        let numbered = (0_u32..).zip(paths);
        let captures: Vec<Capture> = numbered
            .flat_map(|(number, path)| text::captures(path, number))
            .collect();
        if captures.is_empty() {
            let outcome = Ok(Outcome::Unrecognised(Why::NoOutput));
            return Report {
                target: name,
                outcome,
            };
        }
        let stack = captured::stack(captures, &self.settings);
        self.described(name, stack)
    }

    fn described(&self, name: String, stack: Stack) -> Report {
        let path = PathBuf::from(&name);
        self.report(name, &path, Ok(Sight::Stack(stack)))
    }

    pub(super) fn server(&self, name: String, server: Server) -> Report {
        let stack = captured::stack(server.captures, &self.settings);
        self.described(name, stack)
    }
}

/// The files of one machine.
pub(super) fn names(captures: &[Capture]) -> String {
    let files: Vec<String> = captures.iter().map(Capture::title).collect();
    files.join(" + ")
}

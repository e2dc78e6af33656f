//! Captured text by the machine that it is about.

use std::path::PathBuf;

use super::Report;
use super::checker::Checker;
use super::sight::Sight;
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

    fn described(&self, name: String, stack: Stack) -> Report {
        let path = PathBuf::from(&name);
        self.report(name, &path, Ok(Sight::Stack(stack)))
    }

    /// A machine of which texts lie in `place`, a folder or an archive.
    pub(super) fn server_in(&self, place: &str, server: Server) -> Report {
        let name = match (&server.name, server.captures.as_slice()) {
            (None, _) => place.to_owned(),
            (Some(_), [only]) => only.title(),
            (Some(name), _) => format!("{place} ({name})"),
        };
        self.server(name, server)
    }

    fn server(&self, name: String, server: Server) -> Report {
        let stack = captured::stack(server.captures, &self.settings);
        self.described(name, stack)
    }
}

/// The files of one machine.
pub(super) fn names(captures: &[Capture]) -> String {
    let files: Vec<String> = captures.iter().map(Capture::title).collect();
    files.join(" + ")
}

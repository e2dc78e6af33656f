//! Captured text by the machine that it is about.

use std::path::PathBuf;

use super::checker::Checker;
use super::sight::Sight;
use super::{Kind, Report, boxed};
use crate::sources;
use crate::sources::captured::{self, Capture, Server};

impl Checker {
    /// One target for each machine of a text.
    pub(super) fn machines(&self, captures: Vec<Capture>) -> Vec<Report> {
        let servers = captured::of_one(captures).into_iter();
        servers
            .map(|server| self.server(names(&server.captures), server))
            .collect()
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
        let path = PathBuf::from(&name);
        let found = self.told(&name, server.captures);
        self.report(name, &path, Ok(found))
    }

    /// What the captures of one machine say; those of a report on a whole machine are a host.
    pub(super) fn told(&self, name: &str, captures: Vec<Capture>) -> Sight {
        let report = captures.iter().find_map(|capture| capture.report);
        let host = captures
            .iter()
            .find_map(|capture| capture.inventory.host.clone());
        let mut stack = captured::stack(captures, &self.settings);
        let Some(report) = report.filter(|_| self.may_be(Kind::Support)) else {
            return Sight::Stack(stack);
        };
        for ask in captured::asks_of_report(report, &stack) {
            sources::left_out(&mut stack, format!("not in this {report}: {ask}"));
        }
        let host = host.unwrap_or_else(|| boxed::stem(name).to_owned());
        // By how it is said.
        let article = if report.starts_with('m') { "an" } else { "a" };
        let words = format!("{article} {report} of host {host}");
        Sight::Taken(stack, boxed::taken(Kind::Support, words, Some(&host)))
    }
}

/// The files of one machine.
pub(super) fn names(captures: &[Capture]) -> String {
    let files: Vec<String> = captures.iter().map(Capture::title).collect();
    files.join(" + ")
}

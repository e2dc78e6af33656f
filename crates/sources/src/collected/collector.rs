//! What a support tool is, and how the files in its archives are read.

use crate::missing::Missing;

/// A support tool, and how its archives are read.
pub struct Collector {
    /// Its name: `sosreport`.
    pub name: &'static str,
    /// The files that only its archives have: as much of a path as tells.
    pub marks: &'static [&'static str],
    /// What is said of where its archives come from.
    pub of: &'static str,
    /// How the file at this path, counted from the top of the collection, is read; `None` where it tells nothing of storage.
    pub(super) reads: fn(&str) -> Option<Reads>,
    /// The name of the host, by the name of the directory in which everything lies.
    pub(super) host: fn(&str) -> Option<&str>,
    /// Its files say whose they are.
    pub(super) is_named_inside: bool,
    /// What would have to be collected for what is not known, by what was not in it.
    pub(super) wanting: &'static [(&'static [&'static str], &'static str)],
    /// Where the tool has what is not known of a layer.
    pub(super) missing: &'static [(Missing, &'static str)],
    /// The command that a file is named after, when these are the devices of the host; for [`Reads::Named`].
    pub(super) command: CommandWith,
}

/// The command that a file is named after, when these are the devices of the host.
pub(super) type CommandWith = fn(&str, &mut dyn Iterator<Item = &str>) -> String;

/// How a file is read.
pub(super) enum Reads {
    /// The whole of it, with the commands in it.
    Text,
    /// Outputs below titles, as `supportconfig` writes them.
    Titled,
    /// What `uname -a` printed, somewhere in it.
    System,
    /// What one command printed.
    Printed(String),
    /// What the command printed that the file is named after, which only the devices of the host can tell.
    Named(String),
    /// What is mounted.
    Mounts,
    /// One value: the line of sysfs that it is.
    Value(String),
    /// The name of the host.
    HostName,
}

/// What a file is called after, where nothing in its name needs to be known of the host.
pub(super) fn as_named(name: &str, _: &mut dyn Iterator<Item = &str>) -> String {
    name.to_owned()
}

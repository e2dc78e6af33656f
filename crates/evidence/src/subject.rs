use std::fmt;
use std::sync::Arc;

/// What a figure is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// What it is.
    pub kind: SubjectKind,
    /// What it is called.
    pub name: Arc<str>,
}

/// What can have figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubjectKind {
    /// A disk or another block device.
    Disk,
    /// A volume, by its letter, folder or name.
    Volume,
    /// A file, by its path.
    File,
    /// A database, all its files together.
    Database,
    /// A server, or a part of it that no file is known of.
    Server,
    /// An adapter of a host.
    Adapter,
    /// A job of a benchmark.
    Job,
}

impl SubjectKind {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SubjectKind::Disk => "disk",
            SubjectKind::Volume => "volume",
            SubjectKind::File => "file",
            SubjectKind::Database => "database",
            SubjectKind::Server => "server",
            SubjectKind::Adapter => "adapter",
            SubjectKind::Job => "job",
        }
    }
}

impl Subject {
    pub(crate) fn new(kind: SubjectKind, name: &str) -> Subject {
        /// Longer names are no names.
        const LONGEST: usize = 1024;
        let name = name.trim();
        let end = (0..=name.len().min(LONGEST))
            .rev()
            .find(|end| name.is_char_boundary(*end));
        Subject {
            kind,
            name: name[..end.unwrap_or_default()].into(),
        }
    }

    pub(crate) fn disk(name: &str) -> Subject {
        Subject::new(SubjectKind::Disk, name.trim().trim_start_matches("/dev/"))
    }

    pub(crate) fn volume(name: &str) -> Subject {
        Subject::new(SubjectKind::Volume, name)
    }

    pub(crate) fn file(name: &str) -> Subject {
        Subject::new(SubjectKind::File, name)
    }

    pub(crate) fn database(name: &str) -> Subject {
        Subject::new(SubjectKind::Database, name)
    }

    pub(crate) fn server(name: &str) -> Subject {
        Subject::new(SubjectKind::Server, name)
    }

    /// The whole server, where nothing says more.
    pub(crate) fn whole_server() -> Subject {
        Subject::server("-")
    }

    pub(crate) fn job(name: &str) -> Subject {
        Subject::new(SubjectKind::Job, name)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.kind.name(), self.name))
    }
}

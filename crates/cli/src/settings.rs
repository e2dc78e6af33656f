//! What the user wrote down once: `settings.toml` in the directory for configuration.

use anyhow::Context as _;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    pub(crate) history: History,
}

/// The section on the history.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct History {
    /// The database, or `none`.
    pub(crate) path: Option<String>,
    /// Whether `check` keeps its runs as well.
    pub(crate) check: bool,
}

/// Longest file that is read.
const MAX_LEN: usize = 64 << 10;

/// The settings; none where there is no file.
pub(crate) fn settings() -> anyhow::Result<Settings> {
    let Some(path) = folder(Kind::Settings).map(|folder| folder.join("settings.toml")) else {
        return Ok(Settings::default());
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) if text.len() <= MAX_LEN => text,
        Ok(text) => anyhow::bail!(
            "{} has {} bytes, expected at most {MAX_LEN}",
            path.display(),
            text.len()
        ),
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Settings::default());
        }
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    toml::from_str(&text).with_context(|| {
        format!(
            "{}: expected [history] with path = \"…\" and check = true or false",
            path.display()
        )
    })
}

/// What a directory is for.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// What the user wrote.
    Settings,
    /// What the program keeps.
    Data,
}

/// The user's directory of a kind; `None` where there is no home.
pub(crate) fn folder(kind: Kind) -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let (named, below) = match kind {
        Kind::Settings => ("XDG_CONFIG_HOME", ".config"),
        Kind::Data => ("XDG_DATA_HOME", ".local/share"),
    };
    let base = if cfg!(windows) {
        variable(match kind {
            Kind::Settings => "APPDATA",
            Kind::Data => "LOCALAPPDATA",
        })
    } else {
        variable(named).or_else(|| variable("HOME").map(|home| home.join(below)))
    };
    base.map(|base| base.join(Path::new("straddle")))
}

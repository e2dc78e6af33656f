//! Straddle on a Windows host, in Wine: disks that are read as they are, and disks that a driver of our own answers for.

mod answered;
mod four;
mod raw;

use crate::support::wine;
use std::path::{Path, PathBuf};

/// What one run there came to: its exit status, what it printed, and its errors.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A machine of Windows whose disks and volumes are files of this one.
struct Host {
    prefix: PathBuf,
}

impl Host {
    /// `name` is that of its own drive C.
    fn new(name: &str) -> Host {
        let prefix = wine::prefix(name);
        let host = Host { prefix };
        for name in std::fs::read_dir(host.devices()).expect("readable") {
            let name = name.expect("readable").file_name();
            let name = name.to_string_lossy();
            if name.starts_with("physicaldrive") || name.starts_with(['e', 'f']) {
                host.without(&name);
            }
        }
        host
    }

    fn devices(&self) -> PathBuf {
        self.prefix.join("dosdevices")
    }

    fn without(&self, name: &str) {
        std::fs::remove_file(self.devices().join(name)).expect("removed");
    }

    /// Stands for a device of that name: `physicaldrive7`, `e::`.
    fn with(&self, name: &str, file: &Path) {
        std::os::unix::fs::symlink(file, self.devices().join(name)).expect("linked");
    }

    fn straddle(&self, args: &[&str]) -> Ran {
        let output = wine::wine(&self.prefix)
            .arg(wine::straddle_exe())
            .args(args)
            .env("COLUMNS", "100")
            .output()
            .expect("wine; install the Debian packages wine and wine64");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        Ran {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

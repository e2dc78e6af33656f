//! Straddle on a Windows host, in Wine: disks that are read as they are, and disks that a driver of our own answers for.

mod answered;
mod crates;
mod four;
mod manners;
mod raw;

use crate::support::{Run, wine};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A machine of Windows whose disks and volumes are files of this one. There is one, and one test at a time has it: a drive C takes
/// 700 MB.
struct Host {
    prefix: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Host {
    fn new() -> Host {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = wine::prefix("wine-host");
        // What the last test left running, its driver among it, keeps what it had.
        wine::stop(&prefix);
        let host = Host {
            prefix,
            _alone: alone,
        };
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

    fn straddle(&self, args: &[&str]) -> Run {
        let mut straddle = wine::wine_in(&self.prefix);
        wine::run(straddle.arg(wine::straddle_exe()).args(args))
    }
}

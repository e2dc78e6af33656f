//! The daemon of zfs-fuse: it serves the whole machine, so that tests of several programs take turns with it.

use std::fs::{File, OpenOptions};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far from what a busy machine takes: all pools wait for the daemon's one writer.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs a tool of zfs-fuse, with a limit, as the daemon may hang: whether it succeeded, what it printed, and what it said of a failure.
///
/// # Panics
/// Where the tool is missing.
#[must_use]
pub fn tool(words: &[&str]) -> (bool, Vec<u8>, String) {
    let output = Command::new("timeout").arg("600").args(words).output();
    let output = output.expect("timeout, of the Debian package coreutils");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() != Some(127),
        "{} is missing: Debian package zfs-fuse ({error})",
        words[0]
    );
    let said = format!("{}: {error}", output.status);
    (output.status.success(), output.stdout, said)
}

/// What all programs of tests lock that use the daemon.
fn turns() -> File {
    let path = std::env::temp_dir().join("straddle-zfs-fuse.lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    options.open(path).expect("a folder for temporary files")
}

/// The daemon, for one test at a time, whatever program that is of. One that runs already is used as it is.
#[must_use]
pub struct Daemon {
    child: Option<Child>,
    /// Given back behind the daemon: whoever ends it takes the pools of all others with it.
    _turn: File,
}

impl Daemon {
    /// Waits for its turn, and for the daemon.
    ///
    /// # Panics
    /// Where zfs-fuse is missing, or does not answer.
    pub fn start() -> Daemon {
        let turn = turns();
        turn.lock().expect("a lock");
        let mut daemon = Daemon {
            child: None,
            _turn: turn,
        };
        if tool(&["zpool", "list"]).0 {
            return daemon;
        }
        let child = Command::new("zfs-fuse")
            .args(["--no-daemon", "--no-kstat-mount"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("zfs-fuse, of the Debian package of that name");
        daemon.child = Some(child);
        let started = Instant::now();
        while !tool(&["zpool", "list"]).0 {
            assert!(started.elapsed() < PATIENCE, "zfs-fuse does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        daemon
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_is_one_tests_alone() {
        let daemon = Daemon::start();
        assert!(tool(&["zpool", "list"]).0);
        assert!(turns().try_lock().is_err(), "it is somebody's turn");
        drop(daemon);
        // Another program of tests may be the next.
        turns().lock().expect("a lock");
    }
}

//! Stops a program before and after each of its system calls that name or touch files of a directory.
//!
//! A preloaded library would not see calls that go past the C library, and rustix's do; so the program is traced. Only x86-64
//! is known here: which registers hold a call's number and its arguments.

use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Requests are made thousands of times: so many of them are stops.
const REQUESTS: usize = 6;
/// Nothing that is tried here takes longer.
const PATIENCE: Duration = Duration::from_secs(90);

/// A stop: which call, on what, before or after it, and which of those it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stop {
    pub(crate) call: &'static str,
    pub(crate) on: &'static str,
    pub(crate) before: bool,
    pub(crate) number: usize,
}

/// What a traced run came to.
pub(crate) struct Traced {
    pub(crate) stops: Vec<Stop>,
    /// None when it was ended by a signal or had to be killed.
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
}

/// The calls that name files: which arguments are paths.
const PATHS: &[(i64, &str, &[usize])] = &[
    (libc::SYS_open, "open", &[0]),
    (libc::SYS_openat, "openat", &[1]),
    (libc::SYS_openat2, "openat2", &[1]),
    (libc::SYS_stat, "stat", &[0]),
    (libc::SYS_lstat, "lstat", &[0]),
    (libc::SYS_newfstatat, "newfstatat", &[1]),
    (libc::SYS_statx, "statx", &[1]),
    (libc::SYS_statfs, "statfs", &[0]),
    (libc::SYS_access, "access", &[0]),
    (libc::SYS_faccessat, "faccessat", &[1]),
    (libc::SYS_readlink, "readlink", &[0]),
    (libc::SYS_readlinkat, "readlinkat", &[1]),
    (libc::SYS_unlink, "unlink", &[0]),
    (libc::SYS_unlinkat, "unlinkat", &[1]),
    (libc::SYS_rename, "rename", &[0, 1]),
    (libc::SYS_renameat, "renameat", &[1, 3]),
    (libc::SYS_renameat2, "renameat2", &[1, 3]),
    (libc::SYS_link, "link", &[0, 1]),
    (libc::SYS_linkat, "linkat", &[1, 3]),
    (libc::SYS_mkdir, "mkdir", &[0]),
    (libc::SYS_mkdirat, "mkdirat", &[1]),
    (libc::SYS_rmdir, "rmdir", &[0]),
    (libc::SYS_truncate, "truncate", &[0]),
    (libc::SYS_chmod, "chmod", &[0]),
    (libc::SYS_fchmodat, "fchmodat", &[1]),
    (libc::SYS_setxattr, "setxattr", &[0]),
    (libc::SYS_getxattr, "getxattr", &[0]),
    (libc::SYS_utimensat, "utimensat", &[1]),
];

/// The calls whose first argument is a descriptor.
const DESCRIPTORS: &[(i64, &str)] = &[
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_pread64, "pread64"),
    (libc::SYS_pwrite64, "pwrite64"),
    (libc::SYS_lseek, "lseek"),
    (libc::SYS_fstat, "fstat"),
    (libc::SYS_ftruncate, "ftruncate"),
    (libc::SYS_fallocate, "fallocate"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_fadvise64, "fadvise64"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_fsetxattr, "fsetxattr"),
    (libc::SYS_utimensat, "utimensat"),
];

/// What a name or the file of a descriptor is to the program: `file`, `journal`, the folder in which names are compared, or a
/// file that has no name yet.
fn class(text: &str) -> Option<&'static str> {
    if text.contains(".straddle-") || text == "file" {
        Some("folder")
    } else if text.contains(".journal") {
        Some("journal")
    } else if text.contains(".dat") {
        Some("file")
    } else if text.contains("/#") || text == "." {
        Some("nameless")
    } else {
        None
    }
}

struct Tracer<'a> {
    directory: &'a Path,
    counts: BTreeMap<(&'static str, &'static str, bool), usize>,
    stops: Vec<Stop>,
    requests: usize,
}

impl Tracer<'_> {
    /// The stop that a thread is at, if its call is one of those.
    fn stop(&mut self, thread: Pid) -> Option<Stop> {
        let registers = ptrace::getregs(thread).ok()?;
        let number = registers.orig_rax.cast_signed();
        // The kernel has no result yet.
        let before = registers.rax.cast_signed() == -i64::from(libc::ENOSYS);
        let arguments = [registers.rdi, registers.rsi, registers.rdx, registers.r10];
        let is_request = [
            libc::SYS_pread64,
            libc::SYS_pwrite64,
            libc::SYS_io_uring_enter,
        ]
        .contains(&number);
        if is_request && self.requests > REQUESTS * 20 {
            return None;
        }
        self.requests += usize::from(is_request);
        let (call, on) = self.call(thread, number, arguments)?;
        let count = self.counts.entry((call, on, before)).or_default();
        *count += 1;
        if is_request && *count > REQUESTS {
            return None;
        }
        let stop = Stop {
            call,
            on,
            before,
            number: *count,
        };
        self.stops.push(stop.clone());
        Some(stop)
    }

    fn call(
        &self,
        thread: Pid,
        number: i64,
        arguments: [u64; 4],
    ) -> Option<(&'static str, &'static str)> {
        if number == libc::SYS_io_uring_enter {
            return Some(("io_uring_enter", "file"));
        }
        for (_, call, paths) in PATHS.iter().filter(|(known, ..)| *known == number) {
            let texts = paths.iter().filter_map(|at| string(thread, arguments[*at]));
            for text in texts {
                // What is looked at by way of its descriptor has a name, too.
                let text = match text.strip_prefix("/proc/self/fd/") {
                    Some(fd) => self.descriptor(thread, fd.parse().ok()?)?,
                    None => text,
                };
                if let Some(on) = class(&text) {
                    return Some((call, on));
                }
            }
        }
        let (_, call) = DESCRIPTORS.iter().find(|(known, _)| *known == number)?;
        let on = class(&self.descriptor(thread, arguments[0])?)?;
        Some((call, on))
    }

    /// The path of a descriptor, below the directory.
    fn descriptor(&self, thread: Pid, fd: u64) -> Option<String> {
        let path = fs::read_link(format!("/proc/{thread}/fd/{fd}")).ok()?;
        let below = path.strip_prefix(self.directory).ok()?;
        Some(format!("/{}", below.display()))
    }
}

/// The text at an address of a thread.
fn string(thread: Pid, at: u64) -> Option<String> {
    let memory = File::open(format!("/proc/{thread}/mem")).ok()?;
    let mut bytes = Vec::new();
    let mut byte = [0];
    while bytes.len() < 4096 && memory.read_at(&mut byte, at + bytes.len() as u64).ok()? == 1 {
        if byte == [0] {
            return String::from_utf8(bytes).ok();
        }
        bytes.push(byte[0]);
    }
    None
}

/// Runs the program with these arguments in `directory`. At the stop `at`, `swap` is called, once; from then on it is
/// interrupted (SIGINT) as soon as it has made a few more requests, so that runs of a second do not have to be waited for.
pub(crate) fn trace(
    directory: &Path,
    arguments: &[&str],
    at: Option<&Stop>,
    mut swap: impl FnMut(),
) -> Traced {
    let output = |name: &str| directory.join("..").join(name);
    let file = |path: &PathBuf| File::create(path).expect("writable");
    let (stdout, stderr) = (output("stdout"), output("stderr"));
    // It waits until it is traced.
    let mut child = Command::new("sh")
        .args(["-c", "kill -STOP $$; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_straddle"))
        .env("STRADDLE_HISTORY", "none")
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(file(&stdout))
        .stderr(file(&stderr))
        .spawn()
        .expect("sh runs");
    let main = Pid::from_raw(child.id().cast_signed());
    let all = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    let stopped = waitpid(main, Some(all | WaitPidFlag::WUNTRACED)).expect("it stops");
    assert_eq!(stopped, WaitStatus::Stopped(main, Signal::SIGSTOP));
    ptrace::seize(
        main,
        ptrace::Options::PTRACE_O_TRACESYSGOOD
            | ptrace::Options::PTRACE_O_TRACECLONE
            | ptrace::Options::PTRACE_O_TRACEEXEC
            | ptrace::Options::PTRACE_O_EXITKILL,
    )
    .expect("it can be traced");
    kill(main, Signal::SIGCONT).expect("it goes on");
    let mut tracer = Tracer {
        directory,
        counts: BTreeMap::new(),
        stops: Vec::new(),
        requests: 0,
    };
    let (done, is_done) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if is_done.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = kill(main, Signal::SIGKILL);
        }
    });
    let (mut is_swapped, mut later, mut code) = (false, 0, None);
    while let Ok(event) = waitpid(None, Some(all)) {
        let (thread, signal) = match event {
            WaitStatus::PtraceSyscall(thread) => {
                let stop = tracer.stop(thread);
                if !is_swapped && stop.is_some() && stop.as_ref() == at {
                    is_swapped = true;
                    swap();
                } else if is_swapped && stop.is_none() {
                    // Its requests are no stops any more, or it waits for time to pass.
                    later += 1;
                    if later == 40 {
                        let _ = kill(main, Signal::SIGINT);
                    }
                }
                (thread, None)
            }
            WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
            WaitStatus::PtraceEvent(thread, ..) => (thread, None),
            WaitStatus::Exited(process, status) => {
                if process == main {
                    code = Some(status);
                }
                continue;
            }
            _ => continue,
        };
        // It may have been killed meanwhile.
        let _ = ptrace::syscall(thread, signal);
    }
    // Its end was seen above.
    let _ = child.wait();
    drop(done);
    let _ = watchdog.join();
    let stderr = fs::read(&stderr).expect("readable");
    Traced {
        stops: tracer.stops,
        code,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

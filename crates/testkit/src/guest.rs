//! A lab guest: Debian's User-Mode Linux kernel, run as an ordinary process, with a shell script as its only job.
//!
//! What the guest itself does is in `tests/lab/guest/init`;
//! `tests/lab/README.md` says what a script may use.

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// What a guest cannot start without, and the Debian package it is in.
const TOOLS: &[(&str, &str)] = &[
    ("linux.uml", "user-mode-linux"),
    ("modprobe", "kmod"),
    ("cc", "gcc"),
    ("mount", "mount"),
    ("bash", "bash"),
];
/// Where Debian has the modules of that kernel.
const MODULES: &str = "/usr/lib/uml/modules";
/// Lines of the console that are shown when a guest dies.
const LAST_LINES: usize = 20;
/// How often the guest's output is looked at.
const POLL: Duration = Duration::from_millis(10);

/// How a guest is to be started.
pub struct Guest {
    /// The repository, which the guest sees read-only.
    pub repository: PathBuf,
    /// Memory, as the kernel takes it: `512M`.
    pub memory: String,
    /// Wall time after which the guest is ended.
    pub limit: Duration,
    /// A directory that the guest may write to.
    pub out: Option<PathBuf>,
    /// Disks, as the kernel takes them: `ubda=FILE`.
    pub disks: Vec<String>,
    /// Programs on the script's PATH.
    pub programs: Vec<PathBuf>,
}

/// A guest that runs; it ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Not yet waited for, so the number still is its own.
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// Processors of the guests that run.
static TAKEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());
/// One of them has become free.
static FREED: Condvar = Condvar::new();

/// A processor that is a guest's for as long as this value lives. The guest's kernel and the process in it that runs
/// take turns, thousands of times a second, and never run at once. Kept on one processor, they are three times as fast
/// as when each turn wakes another one.
struct Processor {
    number: usize,
    /// Those that are open to this thread.
    all: CpuSet,
}

impl Processor {
    /// Waits for one when there are more guests than processors.
    fn take() -> Result<Self> {
        let all = sched_getaffinity(None).context("which processors there are")?;
        let mut taken = TAKEN.lock().expect("no panic while held");
        loop {
            let here = sched_getcpu();
            let free = (0..CpuSet::MAX_CPU)
                .filter(|number| all.is_set(*number) && !taken.contains(number))
                .min_by_key(|number| *number != here);
            if let Some(number) = free {
                taken.push(number);
                return Ok(Self { number, all });
            }
            taken = FREED.wait(taken).expect("no panic while held");
        }
    }

    /// Starts a process that stays on this processor, with all that it starts.
    fn spawn(&self, command: &mut Command) -> Result<Child> {
        let mut only = CpuSet::new();
        only.set(self.number);
        // It inherits what holds for the thread that starts it.
        sched_setaffinity(None, &only).context("to stay on a processor")?;
        let child = command.spawn();
        sched_setaffinity(None, &self.all).context("to leave a processor")?;
        child.context("cannot run linux.uml")
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().expect("no panic while held");
        taken.retain(|number| *number != self.number);
        FREED.notify_one();
    }
}

/// What the script wrote to one of its outputs, on its way to a reader.
struct Stream<'a>(File, &'a mut dyn Write);

impl Stream<'_> {
    fn forward(&mut self) -> Result<()> {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes)?;
        self.1.write_all(&bytes)?;
        self.1.flush()?;
        Ok(())
    }
}

impl Guest {
    /// Boots a guest, runs `script` in it, passes on what it writes, and gives its exit status.
    pub fn run<'a>(
        &self,
        script: &Path,
        arguments: &[String],
        stdout: &'a mut dyn Write,
        stderr: &'a mut dyn Write,
    ) -> Result<u8> {
        require_tools()?;
        // The library that `linux.uml` needs on newer processors.
        let preload = self.built("fp-registers.c", "fp-registers.so", &["-shared", "-fPIC"])?;
        let room = tempfile::Builder::new().prefix("straddle-lab.").tempdir()?;
        let at = |name: &str| room.path().join(name);
        self.furnish(room.path(), script, arguments)?;
        let mut streams = Vec::new();
        for (name, sink) in [("stdout", stdout), ("stderr", stderr)] {
            File::create(at(name))?;
            streams.push(Stream(File::open(at(name))?, sink));
        }

        let console = File::create(at("console"))?;
        let mut command = Command::new("linux.uml");
        command
            .arg(format!("mem={}", self.memory))
            .arg(format!("uml_dir={}", room.path().display()))
            .args(["umid=guest", "rootfstype=hostfs", "root=/dev/root", "ro"])
            .arg(format!("init={}", at("init").display()))
            .args(["con=null", "con0=null,fd:1", "con1=null"])
            .args(&self.disks)
            .env("LD_PRELOAD", preload)
            .env_remove("TMPDIR") // Where its memory lies; by itself it finds /dev/shm.
            .stdin(Stdio::null())
            .stdout(console.try_clone()?)
            .stderr(console)
            // A guest that panics sends SIGTERM to its process group, which must not be ours.
            .process_group(0);
        let processor = Processor::take()?;
        let start = Instant::now();
        let mut guest = Running(processor.spawn(&mut command)?);
        let mut ended = false;
        while !ended && start.elapsed() < self.limit {
            std::thread::sleep(POLL);
            ended = guest.0.try_wait()?.is_some();
            streams.iter_mut().try_for_each(Stream::forward)?;
        }
        drop(guest);

        let status = fs::read_to_string(at("status")).unwrap_or_default();
        if let Ok(status) = status.trim().parse() {
            return Ok(status);
        }
        let what = match ended {
            true => "the guest died before the script ended".to_owned(),
            false => format!("the guest was ended after {} s", self.limit.as_secs()),
        };
        let console = fs::read(at("console")).unwrap_or_default();
        bail!("{what}; the last lines of its console:\n{}", tail(&console))
    }

    /// Lays out what `tests/lab/guest/init` finds beside itself.
    fn furnish(&self, room: &Path, script: &Path, arguments: &[String]) -> Result<()> {
        let name = script.file_name().context("the script has no name")?;
        fs::create_dir(room.join("script"))?;
        fs::copy(script, room.join("script").join(name))
            .with_context(|| script.display().to_string())?;
        let init = self.repository.join("tests/lab/guest/init");
        fs::copy(&init, room.join("init")).with_context(|| init.display().to_string())?;

        let out = self.out.as_ref().map(fs::canonicalize).transpose();
        let out = out.context("the output directory")?.unwrap_or_default();
        let environment = [
            (
                "REPOSITORY",
                fs::canonicalize(&self.repository)?.as_os_str(),
            ),
            ("OUT_ON_HOST", out.as_os_str()),
            ("LAUNCHER", OsStr::new(&std::process::id().to_string())),
            ("SCRIPT", name),
        ]
        .map(|(name, value)| Ok(format!("{name}={}\n", quoted(value)?)));
        let environment: Result<String> = environment.into_iter().collect();
        fs::write(room.join("environment"), environment?)?;
        let arguments: String = arguments.iter().map(|word| format!("{word}\0")).collect();
        fs::write(room.join("arguments"), arguments)?;

        let bin = room.join("bin");
        fs::create_dir(&bin)?;
        // Without libraries to load they start faster.
        let own = ["lab-blocks", "lab-changes", "lab-registers"]
            .map(|name| self.built(&format!("{name}.c"), name, &["-static"]));
        let own = own.into_iter().collect::<Result<Vec<PathBuf>>>()?;
        for program in self.programs.iter().chain(&own) {
            let there = bin.join(program.file_name().context("a program has no name")?);
            fs::hard_link(program, &there)
                .or_else(|_| fs::copy(program, &there).map(|_| ()))
                .with_context(|| program.display().to_string())?;
        }
        Ok(())
    }

    /// What `cc` makes of a source beside `init`; built when there is none, or an old one.
    fn built(&self, source: &str, product: &str, options: &[&str]) -> Result<PathBuf> {
        let source = self.repository.join("tests/lab/guest").join(source);
        let cache = self.repository.join("target/lab");
        let ready = cache.join(product);
        let changed = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified());
        if changed(&ready).is_ok_and(|built| changed(&source).is_ok_and(|then| then < built)) {
            return Ok(ready);
        }
        fs::create_dir_all(&cache)?;
        // Another guest may be starting: what it finds must be whole.
        let room = tempfile::tempdir_in(&cache)?;
        let fresh = room.path().join(product);
        let made = Command::new("cc")
            .args(["-O2", "-Wall"])
            .args(options)
            .arg("-o")
            .args([fresh.as_os_str(), source.as_os_str()])
            .output()
            .context("cannot run cc")?;
        ensure!(
            made.status.success(),
            "cannot build {}:\n{}",
            source.display(),
            String::from_utf8_lossy(&made.stderr)
        );
        fs::rename(&fresh, &ready)?;
        Ok(ready)
    }
}

fn require_tools() -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let lacking = lacking(&places, Path::new(MODULES));
    ensure!(lacking.is_empty(), "the lab needs {}", lacking.join(", "));
    Ok(())
}

/// What is not there, each with its package.
fn lacking(places: &[PathBuf], modules: &Path) -> Vec<String> {
    let has = |tool: &str| places.iter().any(|place| place.join(tool).is_file());
    let mut lacking: Vec<String> = TOOLS
        .iter()
        .filter(|(tool, _)| !has(tool))
        .map(|(tool, package)| format!("`{tool}` of the Debian package {package}"))
        .collect();
    if lacking.is_empty() && !modules.is_dir() {
        lacking.push(format!(
            "{} of the Debian package user-mode-linux",
            modules.display()
        ));
    }
    lacking
}

/// One word for a shell.
fn quoted(word: &OsStr) -> Result<String> {
    let word = word.to_str().context("a path is not UTF-8")?;
    Ok(format!("'{}'", word.replace('\'', r"'\''")))
}

/// The last lines, without the addresses of a stack trace, which would drown its cause.
fn tail(console: &[u8]) -> String {
    let text = String::from_utf8_lossy(console);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.starts_with(" [<"))
        .collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let lacking = lacking(&[], Path::new(MODULES));
        assert_eq!(lacking.len(), TOOLS.len());
        assert_eq!(
            lacking[0],
            "`linux.uml` of the Debian package user-mode-linux"
        );
    }

    #[test]
    fn words_reach_the_shell_whole() {
        assert_eq!(
            quoted(OsStr::new("it's")).ok().as_deref(),
            Some(r"'it'\''s'")
        );
    }

    #[test]
    fn the_console_is_shown_from_behind() {
        let lines: String = (0..100).map(|n| format!("{n}\r\n")).collect();
        let shown = tail(format!("{lines} [<606931e5>] panic+0x197/0x376\r\n").as_bytes());
        assert_eq!(shown.lines().count(), LAST_LINES);
        assert!(shown.ends_with("98\n99"));
    }
}

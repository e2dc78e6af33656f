//! `cargo xtask lab`: runs a shell script under a kernel that has md, device-mapper, scsi_debug and loop devices.

use anyhow::{Context, Result, bail};
use std::io::{stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::run::{as_tests_have_it, repository, run};
pub(crate) use straddle_testkit::guest::Guest;

/// How it is called.
pub(crate) const HELP: &str = "\
cargo xtask lab [OPTIONS] SCRIPT [ARGUMENTS…]

Boots Debian's User-Mode Linux kernel as an ordinary process, runs SCRIPT in it with bash and with this repository's
straddle on its PATH, and ends with its exit status; with 125 when the guest could not run or did not finish.
tests/lab/README.md says what a script may use.

  --memory SIZE       memory of the guest (1G)
  --timeout SECONDS   wall time after which the guest is ended (300)
  --out DIRECTORY     a directory that the script may write to, as $OUT
  --disk ubdX=FILE    a disk for the guest, /dev/ubdX (ubda to ubdp); ubdXr=FILE: read-only
  --program FILE      one more program on the script's PATH
";
/// As of env(1) and timeout(1): what was to be run was not.
const NOT_RUN: u8 = 125;

/// What was asked for on the command line.
struct Request {
    guest: Guest,
    script: PathBuf,
    arguments: Vec<String>,
}

/// Runs a script in a guest; paths are relative to `from`.
pub(crate) fn script(args: &[&str], from: &Path) -> ExitCode {
    match parse(args, from).and_then(|request| start(&request)) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(NOT_RUN)
        }
    }
}

fn start(request: &Request) -> Result<u8> {
    run(as_tests_have_it().args(["--bin", "straddle"]))?;
    let Request {
        guest,
        script,
        arguments,
    } = request;
    guest.run(script, arguments, &mut stdout(), &mut stderr())
}

fn parse(args: &[&str], from: &Path) -> Result<Request> {
    let mut guest = Guest {
        repository: repository(),
        memory: "1G".to_owned(),
        limit: Duration::from_secs(300),
        out: None,
        disks: Vec::new(),
        programs: vec![repository().join("target/debug/straddle")],
    };
    let mut rest = args.iter().copied();
    while let Some(word) = rest.next() {
        if !word.starts_with("--") {
            return Ok(Request {
                guest,
                script: from.join(word),
                arguments: rest.map(str::to_owned).collect(),
            });
        }
        let value = rest
            .next()
            .with_context(|| format!("`{word}` lacks its value, or is unknown\n\n{HELP}"))?;
        match word {
            "--memory" => guest.memory = value.to_owned(),
            "--timeout" => {
                guest.limit = Duration::from_secs(value.parse().context(word.to_owned())?)
            }
            "--out" => guest.out = Some(from.join(value)),
            "--disk" => guest.disks.push(disk(value, from)?),
            "--program" => guest.programs.push(from.join(value)),
            _ => bail!("there is no option `{word}`\n\n{HELP}"),
        }
    }
    bail!("no script is given\n\n{HELP}")
}

/// `ubdX=FILE` with the file's full name.
fn disk(word: &str, from: &Path) -> Result<String> {
    match word.split_once('=') {
        Some((name, file)) if name.starts_with("ubd") => {
            let file = from.join(file);
            let file = file
                .canonicalize()
                .with_context(|| file.display().to_string())?;
            Ok(format!("{name}={}", file.display()))
        }
        _ => bail!("`{word}` is not of the form ubda=FILE"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_at_the_script() {
        let from = Path::new("/nowhere");
        let args = [
            "--memory",
            "2G",
            "--timeout",
            "7",
            "--out",
            "o",
            "s.sh",
            "--memory",
            "x y",
        ];
        let request = parse(&args, from).expect("parses");
        assert_eq!(request.guest.memory, "2G");
        assert_eq!(request.guest.limit, Duration::from_secs(7));
        assert_eq!(request.guest.out, Some(PathBuf::from("/nowhere/o")));
        assert_eq!(request.script, Path::new("/nowhere/s.sh"));
        assert_eq!(request.arguments, ["--memory", "x y"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let from = Path::new("/nowhere");
        let error = |args: &[&str]| parse(args, from).err().expect("refused").to_string();
        assert!(error(&["--memory", "2G"]).starts_with("no script is given"));
        assert!(error(&["--nonsense", "1", "s"]).starts_with("there is no option `--nonsense`"));
        assert!(error(&["--out"]).starts_with("`--out` lacks its value"));
        assert_eq!(
            error(&["--disk", "sda=x", "s"]),
            "`sda=x` is not of the form ubda=FILE"
        );
        assert_eq!(error(&["--disk", "ubda=x", "s"]), "/nowhere/x");
    }
}

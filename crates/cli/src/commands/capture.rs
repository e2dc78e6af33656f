use anyhow::{Context, bail};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, IsTerminal, Write};

use straddle::sources::linux::Root;
use straddle::sources::{self, CaptureOptions, CaptureReport};

use crate::args::Capture;
use crate::exit::{CLEAN, FAILED};
use crate::output;

pub(crate) fn run(args: &Capture) -> anyhow::Result<u8> {
    let root = match &args.sysroot {
        Some(path) => Root::open(path)?,
        None => Root::live(),
    };
    let root = root.with_serials(args.with_serials);
    let mut files = Vec::new();
    for path in &args.files {
        let path = if root.is_live() {
            std::fs::canonicalize(path)?
        } else {
            path.clone()
        };
        let Some(name) = path.to_str() else {
            bail!("{} is not valid UTF-8", path.display())
        };
        files.push(name.to_owned());
    }
    let wanted = CaptureOptions {
        files,
        metadata: args.with_metadata,
    };
    if args.output.as_os_str() == "-" {
        return to_standard_output(&root, args, &wanted);
    }
    // Never over something that is already there: a capture may be the only one of its host.
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // Names of files and mount points are nobody else's business.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options
        .open(&args.output)
        .with_context(|| format!("cannot create {}", args.output.display()))?;
    let mut out = BufWriter::new(file);
    let report = match sources::capture(&root, &wanted, &mut out) {
        Ok(report) => report,
        Err(error) => {
            // An archive cut short would only mislead.
            let _ = std::fs::remove_file(&args.output);
            return Err(error.into());
        }
    };
    out.flush()?;
    output::remark(&format!(
        "wrote {} ({})",
        args.output.display(),
        what_is_in_it(&report, args)
    ));
    output::remark(&format!(
        "read it elsewhere with: straddle check {}",
        args.output.display()
    ));
    Ok(about_files(&report))
}

/// The archive for whoever reads the pipe. It is made in memory first, so that one cut short is never written.
fn to_standard_output(root: &Root, args: &Capture, options: &CaptureOptions) -> anyhow::Result<u8> {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        bail!(
            "an archive is no text for a terminal; give a file, or a command to read it: straddle capture -o - | ssh HOST straddle check -"
        );
    }
    let mut archive = Vec::new();
    let report = sources::capture(root, options, &mut archive)?;
    out.write_all(&archive)?;
    out.flush()?;
    output::remark(&format!("wrote {}", what_is_in_it(&report, args)));
    Ok(about_files(&report))
}

fn what_is_in_it(report: &CaptureReport, args: &Capture) -> String {
    let files = format!("{} files of this host", report.files);
    let identities = match (args.with_serials, report.replaced) {
        (true, _) => "serial numbers included".to_owned(),
        (false, 0) => "no serial numbers".to_owned(),
        (false, n) => format!("no serial numbers, {n} identifiers replaced"),
    };
    let metadata = match (args.with_metadata, report.devices) {
        (false, _) => String::new(),
        (true, 1) => ", tables and superblocks of 1 device".to_owned(),
        (true, n) => format!(", tables and superblocks of {n} devices"),
    };
    format!("{files}, {identities}{metadata}")
}

/// Says which files are not in it.
fn about_files(report: &CaptureReport) -> u8 {
    for (path, why) in &report.unknown {
        output::error(&format!("{path} is not in it: {why}"));
    }
    match report.unknown.is_empty() {
        true => CLEAN,
        false => FAILED,
    }
}

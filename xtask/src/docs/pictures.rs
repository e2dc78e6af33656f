//! What straddle prints in a terminal, as pictures; and its reports as a browser shows them.

use anstyle::{Color, RgbColor};
use anstyle_svg::{Palette, Term};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::packages;
use crate::run::{cargo, repository, run};

const FOLDER: &str = "docs/pictures";

/// Commands whose output is a picture, by the name of its file. They are typed in one folder, one after the other; what they are typed on is
/// made by [`Folder::new`].
const TYPED: &[(&str, &str)] = &[
    ("check", "straddle check legacy.img --stripe-unit 64K"),
    (
        "fix",
        "straddle fix legacy.img --stripe-unit 64K --profile msa60-p800",
    ),
    (
        "predict",
        "straddle predict --profile msa60-p800 --offsets 31.5K,1M",
    ),
    ("evidence", "straddle evidence ERRORLOG"),
    ("compare", "straddle compare before.json after.json"),
];

/// Reports that are shown in the browser: the picture's name, and what they are made of.
const SHOWN: &[(&str, &str)] = &[
    ("report-check", "check legacy.img --stripe-unit 64K --json"),
    ("report-fix", "fix legacy.img --stripe-unit 64K --json"),
    (
        "report-predict",
        "predict --profile msa60-p800 --offsets 31.5K,1M --json",
    ),
];

/// Colours of a light terminal that can be read, faint text as well; those of old consoles cannot.
fn rendered(text: &str) -> String {
    let colour = |rgb: u32| {
        let [_, red, green, blue] = rgb.to_be_bytes();
        RgbColor(red, green, blue)
    };
    let normal = [
        0x1f_2328, 0xa4_0e26, 0x11_6329, 0x8a_4b00, 0x05_50ae, 0x82_50df, 0x1b_7c83, 0x6e_7781,
    ]
    .map(colour);
    let mut palette = [RgbColor(0, 0, 0); 16];
    palette[..8].copy_from_slice(&normal);
    palette[8..].copy_from_slice(&normal);
    let svg = Term::new()
        .palette(Palette(palette))
        .fg_color(Color::Rgb(colour(0x1f_2328)))
        .bg_color(Color::Rgb(colour(0xf6_f8fa)))
        .render_svg(text.trim_end());
    svg.replace("opacity: 0.4", "opacity: 0.75") + "\n"
}

/// Pictures of a terminal: the same in every run.
pub(super) fn pages() -> Result<BTreeMap<PathBuf, String>> {
    let folder = Folder::new()?;
    let mut out = BTreeMap::new();
    for (name, line) in TYPED {
        let words = line.split(' ').skip(1);
        let printed = folder.straddle(words, true)?;
        let text = format!("\u{1b}[1m$ {line}\u{1b}[0m\n{printed}");
        out.insert(
            PathBuf::from(format!("{FOLDER}/{name}.svg")),
            rendered(&text),
        );
    }
    Ok(out)
}

/// Makes pictures of reports in Chromium. Another version of it draws other letters, so nothing compares them.
pub(crate) fn reports() -> Result<()> {
    packages::for_tests()?;
    run(cargo().args(["build", "--quiet", "--package", "straddle-cli"]))?;
    let folder = Folder::new()?;
    for (name, line) in SHOWN {
        let document = folder.0.join(format!("{name}.json"));
        std::fs::write(&document, folder.straddle(line.split(' '), false)?)?;
        let page = folder.0.join(format!("{name}.html"));
        // As they are typed in that folder: the page says the name.
        let (from, to) = (format!("{name}.json"), format!("{name}.html"));
        folder.straddle(["report", &from, "-o", &to].into_iter(), false)?;
        let picture = repository().join(FOLDER).join(format!("{name}.png"));
        run(Command::new("node")
            .arg("tests/e2e/picture.mjs")
            .arg(&page)
            .arg(&picture))?;
    }
    println!("docs: {} pictures of reports", SHOWN.len());
    Ok(())
}

/// Where the commands are typed. It goes away at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder> {
        let path = repository().join(format!("target/pictures-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path)?;
        let folder = Folder(path);
        make_images(&folder.0)?;
        // The disk before its partition was moved, and afterwards.
        for (name, image) in [("before", "legacy.img"), ("after", "aligned.img")] {
            let [image, disk] = [image, "disk.img"].map(|name| folder.0.join(name));
            std::fs::rename(&image, &disk)?;
            let words = ["check", "disk.img", "--stripe-unit", "64K", "--json"];
            let document = folder.straddle(words.into_iter(), false)?;
            std::fs::write(folder.0.join(format!("{name}.json")), document)?;
            std::fs::rename(&disk, &image)?;
        }
        let logs = repository().join("tests/evidence/errorlog");
        let log = logs.join("two-logs-clock-back-day-missing.log");
        std::fs::copy(&log, folder.0.join("ERRORLOG"))
            .with_context(|| log.display().to_string())?;
        Ok(folder)
    }

    fn straddle<'a>(&self, words: impl Iterator<Item = &'a str>, colours: bool) -> Result<String> {
        let words: Vec<&str> = words.collect();
        let output = Command::new(repository().join("target/debug/straddle"))
            .current_dir(&self.0)
            .args(&words)
            .env("STRADDLE_HISTORY", "none")
            .env(
                if colours {
                    "CLICOLOR_FORCE"
                } else {
                    "NO_COLOR"
                },
                "1",
            )
            .stdin(Stdio::null())
            .output()
            .context("cannot run straddle")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            matches!(output.status.code(), Some(0 | 1)),
            "straddle {}: {said}",
            words.join(" ")
        );
        Ok(String::from_utf8(output.stdout)?)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A disk as Windows before Vista partitioned it, and as it is done now.
fn make_images(folder: &Path) -> Result<()> {
    run(Command::new("sh").current_dir(folder).args([
        "-ec",
        "truncate -s 64M legacy.img aligned.img
         printf 'label: dos\nlabel-id: 0x1\nstart=63, size=65536, type=7\n' | sfdisk --quiet legacy.img
         printf 'label: dos\nlabel-id: 0x1\nstart=2048, size=65536, type=7\n' | sfdisk --quiet aligned.img",
    ]))
}

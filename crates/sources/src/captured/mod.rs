//! Captured text: what tools print about storage, saved to files, mailed, pasted.
//!
//! [`read`] takes one file: it decodes it, finds the outputs in it and notes what they say in an
//! [`Inventory`]. Files of one machine are joined there. A tool is one file in `windows/`,
//! `powershell/`, `linux/`, `bsd/`, `raid/` or `esxi/` and one line in the registry.

mod annotation;
mod beginnings;
mod bsd;
mod cast;
mod codepage;
mod documents;
mod embedded;
mod esxi;
mod folded;
mod grouped;
mod heading;
mod hostname;
mod hosts;
mod joined;
mod json;
mod lacking;
mod linux;
mod margin;
mod markup;
mod number;
mod powershell;
mod raid;
mod records;
mod redacted;
mod registry;
mod reports;
mod restore;
mod row;
mod section;
mod servers;
mod spacing;
mod text;
mod titles;
mod tool;
mod twins;
mod unread;
mod whole;
mod width;
mod windows;

pub use codepage::CodePage;
pub use lacking::{Lacking, Next, lacking};
pub use registry::TOOLS;
pub use servers::{Server, in_folder, of_one};
pub use text::{MAX_BYTES, Wide, wide};
pub use tool::Tool;

use std::sync::Arc;
use straddle_stack::{Anomaly, AnomalyKind, Source, Stack};

use crate::Settings;
use crate::inventory::Inventory;
use documents::Documents;
use text::Text;
use tool::Notes;

/// What one file says.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The file's name.
    pub file: String,
    /// The machine that it is about, where the file is about several.
    pub machine: Option<String>,
    /// The program that wrote it about one whole machine: `pvereport`.
    pub report: Option<&'static str>,
    /// Names of the tools whose output was found in it.
    pub tools: Vec<&'static str>,
    /// What they say.
    pub inventory: Inventory,
    /// The output of a tool seemed to begin somewhere, and said nothing.
    begun: bool,
    /// How many lines of something else stand above the first command or output; all, in the source of a manual.
    above: usize,
}

/// Most lines of something else above an output in a text that was not named.
const MAX_ABOVE: usize = 64;

/// True for the beginning of a file (a few kilobytes are enough) that can be text.
#[must_use]
pub fn looks_like_text(head: &[u8]) -> bool {
    // The text part of a VMDK is the description of a virtual disk, and read as one.
    text::looks_like_text(head) && !head.starts_with(b"# Disk DescriptorFile")
}

/// The lines of a log, each with its number in the file: decoded, and without what mail, terminals and web pages did to it.
/// `bytes` are at most [`MAX_BYTES`].
#[must_use]
pub fn lines(bytes: &[u8]) -> Vec<(u64, String)> {
    let text = Text::of_log(bytes);
    let lines = text.lines();
    let own = |line: &text::Line<'_>| (line.number, line.text.to_owned());
    lines.iter().map(own).collect()
}

/// What systems say to whom they let read no device.
const REFUSALS: [&str; 12] = [
    "permission denied",
    "operation not permitted",
    "access is denied",
    "requires elevation",
    "must be root",
    "you must be superuser",
    "keine berechtigung",
    "zugriff verweigert",
    "permission non accordée",
    "accès refusé",
    "permiso denegado",
    "отказано в доступе",
];

/// True for the beginning of a text in which a system refuses to read a device.
#[must_use]
pub fn is_refused(head: &[u8]) -> bool {
    let text = Text::new(head, true);
    let lines = text.lines();
    lines.iter().any(|line| {
        let said = line.text.to_lowercase();
        let mut places = REFUSALS.iter().filter_map(|refusal| said.find(refusal));
        // In the text of a program, it is what somebody else would say.
        places.any(|at| {
            let before = &said[..at];
            before.matches('"').count() % 2 == 0 && !before.contains("/*")
        })
    })
}

impl Capture {
    /// True where the outputs stand far down in a text of something else: a changelog, a manual, a list of questions and answers. Who
    /// pastes an output writes a few lines above it, and what records a session begins with a command.
    #[must_use]
    pub fn is_mention(&self) -> bool {
        self.above > MAX_ABOVE
    }

    /// The file's name, with the machine's where the file is about several.
    #[must_use]
    pub fn title(&self) -> String {
        match &self.machine {
            Some(machine) => format!("{} ({machine})", self.file),
            None => self.file.clone(),
        }
    }
}

/// Reads a file of captured text as one capture, also when it is about several machines. `bytes` are its beginning, at most
/// [`MAX_BYTES`]; `cut` says that there is more. `number` tells the files of one machine apart.
///
/// A text in which no tool's output is recognised gives a capture without tools.
#[must_use]
pub fn read(file: &str, bytes: &[u8], cut: bool, number: u32) -> Capture {
    read_with(TOOLS, file, bytes, cut, number)
}

/// As [`read`], when only some tools are looked for.
#[must_use]
pub fn read_with(
    tools: &'static [&'static Tool],
    file: &str,
    bytes: &[u8],
    cut: bool,
    number: u32,
) -> Capture {
    let text = Text::new(bytes, cut);
    let mut capture = one(tools, file, &text.lines(), number);
    remark(&text, &mut capture);
    capture
}

/// Reads what one command printed, of which the command is known from elsewhere: the name of a file in a support archive. As [`read`] otherwise.
#[must_use]
pub fn printed_by(
    file: &str,
    command: Option<&str>,
    bytes: &[u8],
    cut: bool,
    number: u32,
) -> Capture {
    let text = Text::new(bytes, cut);
    let mut capture = one_of(TOOLS, file, command, &text.lines(), number);
    remark(&text, &mut capture);
    capture
}

/// Reads what is mounted on a machine: `/proc/mounts`, `mount -l` and the like.
#[must_use]
pub fn mounts(file: &str, bytes: &[u8], number: u32) -> Capture {
    let text = Text::new(bytes, false);
    reports::mounted(file, &text.lines(), number)
}

/// Reads a text in which each output stands below a title and its command, as `supportconfig` writes them.
#[must_use]
pub fn titled(file: &str, bytes: &[u8], cut: bool, number: u32) -> Capture {
    let text = Text::new(bytes, cut);
    let mut capture = reports::titled(file, &text.lines(), number);
    remark(&text, &mut capture);
    capture
}

/// What is asked for besides the report that a program wrote about a whole machine, [`Capture::report`].
#[must_use]
pub fn asks_of_report(report: &str, stack: &Stack) -> Vec<String> {
    reports::asks(report, stack)
}

/// Reads a file of captured text: one capture for each machine that it is about, `node1: …` or `root@node1:~# …`. Of several
/// machines, those are left out of which no tool's output is recognised; figures of theirs are named.
#[must_use]
pub fn machines(file: &str, bytes: &[u8], cut: bool, number: u32) -> Vec<Capture> {
    let text = Text::new(bytes, cut);
    let lines = text.lines();
    if let Some(mut capture) = reports::capture(file, &lines, number) {
        remark(&text, &mut capture);
        return vec![capture];
    }
    let mut groups = hosts::apart(lines);
    let mut unread = Vec::new();
    let (documents, texts, inner);
    if let [(None, lines)] = groups.as_slice() {
        let mut named = None;
        documents = match documents::apart(lines) {
            Some(Documents::Of(said)) => said,
            Some(Documents::Texts(said, numbers)) => {
                inner = Text::new(said.as_bytes(), false);
                named = titles::apart(&inner.renumbered(&numbers));
                Vec::new()
            }
            Some(Documents::Broken(line)) => {
                unread.push(broken_off(file, line));
                Vec::new()
            }
            None => Vec::new(),
        };
        texts = documents
            .iter()
            .map(|said| Text::new(said.text.as_bytes(), false))
            .collect::<Vec<_>>();
        if !documents.is_empty() {
            groups = documents
                .iter()
                .zip(&texts)
                .map(|(said, text)| (Some(said.host.clone()), text.renumbered(&said.numbers)))
                .collect();
        } else if let Some(apart) = named.or_else(|| titles::apart(lines)) {
            groups = apart;
        }
    }
    if groups.len() >= hosts::MAX {
        let line = groups.last().and_then(|(_, lines)| lines.first());
        unread.extend(line.map(|line| too_many(file, line)));
    }
    let several = groups.len() > 1;
    let mut found: Vec<Capture> = Vec::new();
    for (host, lines) in groups {
        let mut capture = one(TOOLS, file, &lines, number);
        if several && capture.tools.is_empty() {
            let tells = |line: &&text::Line<'_>| {
                has_figures(line.text) || capture.begun && !line.is_blank()
            };
            let line = lines.iter().find(tells);
            unread.extend(line.map(|line| not_recognised(file, host.as_deref(), line)));
        }
        if several {
            capture.inventory.host = host.clone();
            capture.machine = host;
        }
        found.push(capture);
    }
    match found.iter().any(|capture| !capture.tools.is_empty()) {
        true => found.retain(|capture| !capture.tools.is_empty()),
        false => found.truncate(1),
    }
    // The others show nothing of theirs.
    if let [only] = found.as_mut_slice() {
        only.machine = None;
    }
    if let Some(first) = found.first_mut() {
        remark(&text, first);
        if !first.tools.is_empty() {
            first.inventory.remarks.extend(unread);
        }
    }
    found
}

/// True for what may be a row of a table: two whole numbers, and no time of day.
fn has_figures(text: &str) -> bool {
    let is_number = |word: &&str| word.trim_end_matches('+').parse::<u64>().is_ok();
    let least = if text.contains("/dev/") { 1 } else { 2 };
    !text.contains(':') && text.split_whitespace().filter(is_number).count() >= least
}

/// The remark about a document of JSON that has what programs printed, and breaks off.
fn broken_off(file: &str, line: u64) -> Anomaly {
    let detail =
        "the JSON document breaks off here; of which machine what follows is cannot be told";
    Anomaly::at(AnomalyKind::Truncated, detail, source(file, line, "..."))
}

/// The remark about a text of more machines than are told apart.
fn too_many(file: &str, line: &text::Line<'_>) -> Anomaly {
    let detail = format!(
        "{} machines or more: those behind this line are not told apart; give them in several files",
        hosts::MAX
    );
    let source = source(file, line.number, line.text);
    Anomaly::at(AnomalyKind::Truncated, detail, source)
}

/// The remark about figures of a machine of which nothing was recognised.
fn not_recognised(file: &str, host: Option<&str>, line: &text::Line<'_>) -> Anomaly {
    let host = host.unwrap_or("another machine");
    let detail =
        format!("what was printed on {host} was not recognised, and is not in this report");
    let source = source(file, line.number, line.text);
    Anomaly::at(AnomalyKind::Missing, detail, source)
}

fn source(file: &str, line: u64, text: &str) -> Source {
    Source::Captured {
        file: file.into(),
        line,
        text: text.into(),
    }
}

/// What the lines of one machine say.
fn one(
    tools: &'static [&'static Tool],
    file: &str,
    lines: &[text::Line<'_>],
    number: u32,
) -> Capture {
    one_of(tools, file, None, lines, number)
}

fn one_of(
    tools: &'static [&'static Tool],
    file: &str,
    command: Option<&str>,
    lines: &[text::Line<'_>],
    number: u32,
) -> Capture {
    let shared: Arc<str> = file.into();
    let mut notes = Notes {
        file: &shared,
        number,
        inventory: Inventory::default(),
        focus: tool::Focus::default(),
        twins: twins::Twins::default(),
        begun: false,
        above: None,
    };
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    // `smartctl_-a_.dev.sda` has no ending.
    let ending = name
        .rsplit_once('.')
        .filter(|(_, ending)| !linux::is_disk(ending));
    let stem = ending.map_or(name, |(stem, _)| stem);
    let command = command.map(|typed| tool::Command {
        line: text::Line {
            number: 1,
            text: typed,
        },
        words: typed.split_whitespace().collect(),
    });
    let tools = section::read(tools, lines, stem, command, &mut notes);
    notes.finish();
    Capture {
        file: file.to_owned(),
        machine: None,
        report: None,
        tools: tools.into_iter().map(|tool| tool.name).collect(),
        begun: notes.begun,
        above: match lines.iter().find(|line| !line.is_blank()) {
            Some(first) if is_roff(first.text) => usize::MAX,
            _ => notes.above.unwrap_or_default(),
        },
        inventory: notes.inventory,
    }
}

/// True for the first line of a manual in troff's language, which shows what others printed once.
fn is_roff(text: &str) -> bool {
    let begins = [".\\\"", "'\\\"", ".TH ", ".Dd ", ".so "];
    begins.iter().any(|begin| text.starts_with(begin))
}

/// Says what is not in the text.
fn remark(text: &Text, capture: &mut Capture) {
    let remarks = &mut capture.inventory.remarks;
    if let (Some(number), false) = (text.left_out, capture.tools.is_empty()) {
        let source = source(&capture.file, number, "...");
        let detail = "lines were left out here by whoever copied the text; what stood in them is not in this report";
        remarks.push(Anomaly::at(AnomalyKind::Missing, detail, source));
    }
    if text.cut {
        remarks.push(Anomaly::new(
            AnomalyKind::LimitReached,
            format!(
                "{} is longer than {MAX_BYTES} bytes or 200,000 lines; the rest was not read",
                capture.file
            ),
        ));
    }
}

/// The stack that captures of one machine describe.
#[must_use]
pub fn stack(captures: Vec<Capture>, settings: &Settings) -> Stack {
    let mut inventories = captures.into_iter().map(|capture| capture.inventory);
    let mut all = inventories.next().unwrap_or_default();
    for inventory in inventories {
        all.append(inventory);
    }
    let mut stack = all.stack(&settings.overrides);
    stack.survey(&settings.io);
    stack
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_was_refused_is_no_text_of_a_program() {
        for (text, expected) in [
            ("fdisk: cannot open /dev/sda: Permission denied\n", true),
            (
                "$ fsutil fsinfo ntfsinfo c:\nError:  Access is denied.\n",
                true,
            ),
            ("open(\"/dev/sda\"): Operation not permitted\n", true),
            (
                "#define\tEPERM\t\t 1\t/* Operation not permitted */\n",
                false,
            ),
            ("\t\treturn nil, errors.New(\"must be root\")\n", false),
            (
                "mcset cs \"Cannot change.\\nPermission denied.\" \"x\"\n",
                false,
            ),
        ] {
            assert_eq!(is_refused(text.as_bytes()), expected, "{text}");
        }
    }
}

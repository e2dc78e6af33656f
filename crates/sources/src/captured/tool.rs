//! What a tool's output is, and what its readers are given.

use std::sync::Arc;
use straddle_stack::{Anomaly, AnomalyKind, Fact, Source, Trust};

use super::json::{Json, Object};
use super::records::Record;
use super::redacted;
use super::text::Line;
use super::twins::Twins;
use crate::inventory::{Inventory, Thing};

/// A tool whose output is read.
pub struct Tool {
    /// Name, as in the documentation and of its fuzz target: `diskpar`, `fsutil-ntfsinfo`.
    pub name: &'static str,
    /// System it runs on: `windows`, `linux`, `esxi`, `raid`.
    pub platform: &'static str,
    /// The commands that print what is read, for the page of formats.
    pub commands: &'static [&'static str],
    /// The shapes in which it prints.
    pub(crate) readers: &'static [Reader],
}

/// One shape of output.
pub(crate) enum Reader {
    /// Lines.
    Text {
        /// Where it can begin. `begins` is asked for no other line.
        anchors: &'static [Anchor],
        /// True when it begins in the first of these lines.
        begins: fn(&[Line<'_>]) -> bool,
        /// Notes what it says. The section goes up to where the next one begins.
        read: fn(&Section<'_>, &mut Notes<'_>),
    },
    /// A JSON document.
    Json {
        /// True for this tool's document: the object, or the first object of the list that it is.
        is: fn(&Object<'_>) -> bool,
        /// Notes what it says.
        read: fn(&Json<'_>, &Context<'_>, &mut Notes<'_>),
    },
    /// What was typed, where it decides what later outputs are about: `select disk 1`.
    Typed {
        /// Notes it, if the command is one of this tool's.
        read: fn(&Command<'_>, &mut Notes<'_>),
    },
    /// Objects with these fields, in any of the shapes of [`super::records`].
    Records {
        /// Fields that none of its objects lacks, and that tell it from other tools.
        keys: &'static [&'static str],
        /// Notes what they say.
        read: fn(&[Record<'_>], &Context<'_>, &mut Notes<'_>),
    },
}

/// What a line must have to be asked about.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    /// It begins with this, blanks aside.
    Start(&'static str),
    /// It contains this.
    Within(&'static str),
    /// It has none of these characters, which are one byte each.
    Without(&'static str),
    /// It looks like this, whatever its words are. The test is made for every line, so it has to be cheap.
    Shaped(fn(&str) -> bool),
    /// As [`Anchor::Shaped`], and the lines above are not output of the same tool.
    LooseShaped(fn(&str) -> bool),
    /// It begins with this, and the lines above are not output of the same tool: there it is a part of that output, and
    /// here the beginning of an excerpt.
    Loose(&'static str),
}

/// The output of one tool.
pub(crate) struct Section<'t> {
    /// Its lines.
    pub(crate) lines: &'t [Line<'t>],
    /// The lines above it, a few at most: some tools warn before they print.
    pub(crate) before: &'t [Line<'t>],
    /// What surrounds it.
    pub(crate) context: Context<'t>,
}

/// What is known of an output besides the output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context<'t> {
    /// The command that was typed to get it, where it can be seen.
    pub(crate) command: Option<Command<'t>>,
    /// Name of the file without its folder and its ending: `ntfsinfo-C`.
    pub(crate) file_stem: &'t str,
}

/// A command as it was typed.
#[derive(Clone, Debug)]
pub(crate) struct Command<'t> {
    /// The line it stands in.
    pub(crate) line: Line<'t>,
    /// Its words, the program first, without quotes.
    pub(crate) words: Vec<&'t str>,
}

impl<'t> Command<'t> {
    /// The host that `ssh` runs a command on, and that command.
    pub(crate) fn sent(&self) -> Option<(&'t str, &[&'t str])> {
        let ["ssh", rest @ ..] = self.words.as_slice() else {
            return None;
        };
        let mut at = 0;
        while let Some(option) = rest.get(at)?.strip_prefix('-') {
            // These have a value behind them.
            at += 1 + usize::from(matches!(option, "i" | "l" | "o" | "p" | "F" | "J"));
        }
        let host = rest.get(at)?;
        // Without a command, its own prompt follows.
        let sent = rest.get(at + 1..).filter(|sent| !sent.is_empty())?;
        Some((host.rsplit('@').next().unwrap_or(host), sent))
    }

    /// The program without its folder, `.exe` or `sudo`, in lower case.
    pub(crate) fn program(&self) -> String {
        let words = self.sent().map_or(self.words.as_slice(), |(_, sent)| sent);
        let word = words.iter().find(|word| **word != "sudo");
        let word = word.copied().unwrap_or_default();
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        name.to_ascii_lowercase()
            .trim_end_matches(".exe")
            .to_owned()
    }

    /// The first word that begins like this: `/dev/`.
    pub(crate) fn word(&self, prefix: &str) -> Option<&'t str> {
        let mut words = self.words.iter().skip(1);
        words.find(|word| word.starts_with(prefix)).copied()
    }

    /// The last word, when there is more than the program.
    pub(crate) fn last(&self) -> Option<&'t str> {
        (self.words.len() > 1).then(|| self.words.last().copied())?
    }
}

/// Where readers put what a text says.
pub(crate) struct Notes<'f> {
    /// The file's name.
    pub(crate) file: &'f Arc<str>,
    /// Its number among those of the same machine.
    pub(crate) number: u32,
    /// What was said so far.
    pub(crate) inventory: Inventory,
    /// What outputs are about that say so only once, at their beginning.
    pub(crate) focus: Focus,
    /// Disks of several machines with one name.
    pub(crate) twins: Twins,
    /// The output of a tool seemed to begin somewhere, and said nothing.
    pub(crate) begun: bool,
    /// How many lines of something else stand above the first command, or the first output that said something.
    pub(crate) above: Option<usize>,
}

/// What an interactive tool has selected, or what the last heading was about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Focus {
    /// Windows' number of a disk, and the line that says so.
    pub(crate) disk: Option<(u64, u64)>,
    /// Number of a partition on that disk.
    pub(crate) partition: Option<u64>,
    /// Windows XP or 2003 printed it, not a later version.
    pub(crate) windows_xp: Option<bool>,
    /// The line in which a disk was spoken of first that nothing names, and whether its partitions were listed: the next list is
    /// another disk's.
    pub(crate) unknown: Option<(u64, bool)>,
    /// The first line of a table that is a part of the description of that disk, or of one of its partitions.
    pub(crate) table: Option<(u64, Option<u64>)>,
}

impl Notes<'_> {
    /// A value as said in `line`.
    pub(crate) fn said<T>(&self, line: &Line<'_>, value: T) -> Fact<T> {
        Fact {
            value,
            source: self.source(line),
            trust: Trust::Reported,
        }
    }

    /// The place of a line.
    pub(crate) fn source(&self, line: &Line<'_>) -> Source {
        Source::Captured {
            file: Arc::clone(self.file),
            line: line.number,
            text: line.text.trim().chars().take(LONGEST_LINE).collect(),
        }
    }

    /// What follows is said by the machine of this name.
    pub(crate) fn speaks(&mut self, machine: &str) {
        // Who said nothing is not the first: a session may begin at another machine's prompt.
        let silent = self.inventory.things().is_empty();
        if self.twins.speaks(machine, silent) {
            self.focus = Focus::default();
        }
    }

    /// As [`Self::speaks`], where the name is certain enough to tell files of several machines apart.
    pub(crate) fn host(&mut self, machine: &str) {
        self.speaks(machine);
        let machine = || machine.trim().to_owned();
        self.inventory.host.get_or_insert_with(machine);
    }

    /// All is read. Of several machines, the first one's things are called by its name too.
    pub(crate) fn finish(&mut self) {
        if let Some(first) = &self.twins.first {
            self.inventory.rest_of_machine(first);
        }
    }

    /// Notes a thing.
    pub(crate) fn add(&mut self, mut thing: Thing) {
        thing.file = self.number;
        // What nobody is to read tells no two things apart, and makes none of two.
        if thing.names.iter().any(|name| !redacted::is(name)) {
            thing.names.retain(|name| !redacted::is(name));
        }
        self.twins.tell_apart(&mut thing);
        self.inventory.add(thing);
    }

    /// Remarks that two figures about one thing cannot both be right.
    pub(crate) fn contradicts(
        &self,
        thing: &mut Thing,
        detail: impl Into<String>,
        a: &Line<'_>,
        b: &Line<'_>,
    ) {
        let (a, b) = (self.source(a), self.source(b));
        let anomaly = Anomaly::between(AnomalyKind::Contradiction, detail, a, b);
        thing.remarks.push(anomaly);
    }

    /// Notes what is odd about the text itself.
    pub(crate) fn remark(&mut self, kind: AnomalyKind, detail: impl Into<String>, line: &Line<'_>) {
        let anomaly = Anomaly::at(kind, detail, self.source(line)).of_text();
        if self.inventory.remarks.len() < MAX_REMARKS {
            self.inventory.remarks.push(anomaly);
        }
    }
}

/// Most of a line that is kept as evidence.
const LONGEST_LINE: usize = 240;
/// Most remarks about one text.
const MAX_REMARKS: usize = 64;

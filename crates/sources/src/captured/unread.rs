//! Commands whose output is not there, or not in a shape that is known.

use straddle_stack::AnomalyKind;

use super::text::Line;
use super::tool::{Command, Notes};

/// A command below which nothing was recognised yet.
#[derive(Default)]
pub(super) struct Unread<'t> {
    pub(super) command: Option<Line<'t>>,
    /// Something stands below it.
    pub(super) lines: bool,
}

impl Unread<'_> {
    /// Says so, when the output of the next command begins or the text ends.
    pub(super) fn tell(&mut self, notes: &mut Notes<'_>) {
        if let (Some(line), true) = (&self.command, self.lines) {
            notes.remark(
                AnomalyKind::Missing,
                "nothing of what this command printed was recognised: the heading of its output may be lost",
                line,
            );
        }
        *self = Unread::default();
    }
}

/// True for a command whose output is read when it is whole. Programs that also do other things have to be asked to print.
pub(super) fn prints(command: &Command<'_>) -> bool {
    let program = command.program();
    if matches!(program.as_str(), "pvs" | "vgs" | "lvs" | "lsblk") {
        return true;
    }
    // A folder of sysfs prints nothing: the name of the file in it is lost.
    if program == "cat" && command.words.iter().any(|word| is_folder(word)) {
        return true;
    }
    // What Windows' programs print is known by its columns alone.
    let of_hosts = super::TOOLS
        .iter()
        .filter(|tool| matches!(tool.platform, "linux" | "esxi"));
    of_hosts.flat_map(|tool| tool.commands).any(|known| {
        let mut words = known.split(' ');
        let second = words
            .next()
            .filter(|first| first.eq_ignore_ascii_case(&program))
            .and(words.next());
        second.is_some_and(|second| {
            !second.starts_with(char::is_uppercase) && command.words.contains(&second)
        })
    })
}

/// `/sys/block`, `/sys/block/sdb`: where files about devices are, or a part of such a path.
fn is_folder(path: &str) -> bool {
    let rest = ["/sys/block", "/sys/class/block"]
        .iter()
        .find_map(|folder| path.strip_prefix(folder));
    rest.is_some_and(|rest| rest.split('/').filter(|part| !part.is_empty()).count() < 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_only_print_are_expected_to_print() {
        let of = |text| {
            let command = Command {
                line: Line { number: 1, text },
                words: text.split_whitespace().collect(),
            };
            prints(&command)
        };
        for text in [
            "pvs -o pv_name,pe_start",
            "sudo fdisk -l",
            "cat /proc/mdstat",
            "lsblk",
            "cat /sys/block/sdb",
            "cat /sys/block",
        ] {
            assert!(of(text), "{text}");
        }
        for text in [
            "fdisk /dev/sda",
            "cat /etc/fstab",
            "cat /sys/block/sdb/queue/scheduler",
            "mdadm --stop /dev/md0",
            "diskpart",
        ] {
            assert!(!of(text), "{text}");
        }
    }
}

//! Names of files in `sos_commands`, back to the commands that they are made of.
//!
//! sos replaces what is no letter, digit, `_`, `-`, `.` or `/` by `_`, `/` by `.`, and cuts what the filesystem takes no longer; a second file of
//! one name gets `.1` behind it. So neither an underscore nor a point tells what stood there: what the devices of the host are called decides,
//! where something says it, else how devices of that kind are called.

/// Words that stand behind a device in the commands that sos runs.
const AFTER: [&str; 3] = ["unit", "s", "print"];
/// What names of programs begin with that have an underscore.
const PREFIXES: [&str; 3] = ["xfs", "sg", "pvck"];
/// The directories that a path on a command line begins with.
const TOPS: [&str; 9] = [
    "dev", "sys", "proc", "etc", "mnt", "var", "boot", "usr", "home",
];

/// The command that a file is named after.
pub(super) fn command_of(name: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut is_path = false;
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let begins = TOPS.iter().any(|top| {
            let rest = word
                .strip_prefix('.')
                .and_then(|word| word.strip_prefix(top));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        let is_own = word.starts_with('-') || AFTER.contains(&word);
        match words.last_mut() {
            // The name of a volume may have underscores, and no word follows a device but these.
            Some(path) if is_path && !begins && !is_own => {
                path.push('_');
                path.push_str(word);
            }
            // So may that of a program.
            Some(program)
                if PREFIXES.contains(&program.as_str()) && !word.starts_with(['-', '.']) =>
            {
                program.push('_');
                program.push_str(word);
            }
            _ => {
                is_path = begins;
                words.push(word.to_owned());
            }
        }
    }
    for word in &mut words {
        if let Some(device) = word.strip_prefix(".dev.") {
            *word = format!("/dev/{}", as_usual(device));
        } else if TOPS.iter().any(|top| word.starts_with(&format!(".{top}"))) {
            *word = word.replace('.', "/");
        }
    }
    words.join(" ")
}

/// A device below `/dev` in whose name a point is a slash where devices of its kind have one: in `mapper.vg.data-lv` the first only.
fn as_usual(device: &str) -> String {
    let (slashes, rest) = match device.split_once('.') {
        Some(("mapper" | "md" | "cciss" | "ida" | "rd" | "loop", _)) => (1, device),
        Some(("disk", _)) => (2, device),
        // A zvol lies as deep as its datasets.
        Some(("zvol", _)) => (usize::MAX, device),
        Some((disk, number)) if is_second(number) && is_kernel_name(disk) => (0, disk),
        // A volume in the directory of its group.
        Some(_) => (1, device),
        None => (0, device),
    };
    rest.replacen('.', "/", slashes)
}

/// What stands behind the second file of a name.
fn is_second(end: &str) -> bool {
    (1..=2).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_kernel_name(name: &str) -> bool {
    let disk = [
        "sd", "hd", "vd", "xvd", "nvme", "md", "dm-", "mmcblk", "dasd", "loop",
    ];
    disk.iter().any(|prefix| name.starts_with(prefix))
}

/// True for a file whose name is not enough to know which device its command was about, as long as the host's devices are not known.
pub(super) fn is_unclear(name: &str) -> bool {
    let Some((_, device)) = name.split_once("_.dev.") else {
        return false;
    };
    device.contains(['.', '_'])
}

/// As [`command_of`], where these are the devices of the host: `mapper/vg.data-lv`.
pub(super) fn command_with(name: &str, devices: &mut dyn Iterator<Item = &str>) -> String {
    let Some((program, device)) = name.split_once("_.dev.") else {
        return command_of(name);
    };
    let fits = |known: &&str| {
        let Some(behind) = device.strip_prefix(mangled(known).as_str()) else {
            return false;
        };
        let second = behind.strip_prefix('.').is_some_and(is_second);
        behind.is_empty() || behind.starts_with('_') || second
    };
    // The longest: `vg-data_1` and `vg-data` may both be devices.
    match devices.filter(fits).max_by_key(|known| known.len()) {
        Some(known) => {
            let behind = device.get(mangled(known).len()..).unwrap_or_default();
            let behind = behind.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
            let command = format!(
                "{} /dev/{known} {}",
                command_of(program),
                behind.replace('_', " ")
            );
            command.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        None => command_of(name),
    }
}

/// What sos makes of the name of a device.
fn mangled(device: &str) -> String {
    let mut out = String::with_capacity(device.len());
    let mut is_run = false;
    for letter in device.chars() {
        let is_kept = letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/');
        match (is_kept, is_run) {
            (true, _) if letter == '/' => out.push('.'),
            (true, _) => out.push(letter),
            (false, false) => out.push('_'),
            (false, true) => {}
        }
        is_run = !is_kept;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_commands() {
        for (name, command) in [
            (
                "parted_-s_.dev.sda_unit_s_print",
                "parted -s /dev/sda unit s print",
            ),
            (
                "dumpe2fs_-h_.dev.mapper.vg-root",
                "dumpe2fs -h /dev/mapper/vg-root",
            ),
            ("lsblk_-f_-a_-l", "lsblk -f -a -l"),
            ("mdadm_-D_.dev.md0", "mdadm -D /dev/md0"),
            ("xfs_info_.data", "xfs_info .data"),
            ("devices", "devices"),
            (
                "dumpe2fs_-h_.dev.mapper.vg_data-lv_root",
                "dumpe2fs -h /dev/mapper/vg_data-lv_root",
            ),
            (
                "dumpe2fs_-h_.dev.mapper.vg.data-lv.1",
                "dumpe2fs -h /dev/mapper/vg.data-lv.1",
            ),
            ("dumpe2fs_-h_.dev.vg0.root", "dumpe2fs -h /dev/vg0/root"),
            ("fdisk_-l_.dev.cciss.c0d0", "fdisk -l /dev/cciss/c0d0"),
            ("smartctl_-a_.dev.sda.1", "smartctl -a /dev/sda"),
            (
                "udevadm_info_-ap_.sys.block.sda",
                "udevadm info -ap /sys/block/sda",
            ),
        ] {
            assert_eq!(command_of(name), command);
        }
    }

    #[test]
    fn the_devices_of_the_host_decide() {
        let devices = ["sda", "vg.a/lv.b", "mapper/vg+x-data", "mapper/vg-data_1"];
        let of = |name| command_with(name, &mut devices.into_iter());
        assert_eq!(
            of("dumpe2fs_-h_.dev.vg.a.lv.b"),
            "dumpe2fs -h /dev/vg.a/lv.b"
        );
        assert_eq!(
            of("dumpe2fs_-h_.dev.mapper.vg_x-data"),
            "dumpe2fs -h /dev/mapper/vg+x-data"
        );
        assert_eq!(
            of("dumpe2fs_-h_.dev.mapper.vg-data_1.2"),
            "dumpe2fs -h /dev/mapper/vg-data_1"
        );
        assert_eq!(
            of("parted_-s_.dev.sda_unit_s_print"),
            "parted -s /dev/sda unit s print"
        );
        assert_eq!(of("dumpe2fs_-h_.dev.mapper.x"), "dumpe2fs -h /dev/mapper/x");
    }
}

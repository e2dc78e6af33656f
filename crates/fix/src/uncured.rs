//! Findings that no change of a plan cures, and why: what a reader is told of those that are left.

use straddle_rules::Code;

/// Why a finding of this code is not cured by any change; `None` where a change exists.
#[must_use]
pub fn reason(code: Code) -> Option<&'static str> {
    let mut all = UNCURED.iter().flat_map(|(codes, why)| {
        let codes = codes.iter();
        codes.map(move |code| (*code, *why))
    });
    all.find(|(of, _)| *of == code.0).map(|(_, why)| why)
}

const FACTS: &str = "it says how sure the facts are; give the missing or the newer ones";
const GUEST: &str = "it is set where the virtual machine is configured, or follows from what lies below it; cure that first";
const REPORTED: &str = "the device reports it: firmware, a kernel parameter or a udev rule set it right, nothing on the disk does";
const STATE: &str =
    "it is the state of an array: let the rebuild or reshape come to its end, and look again";
const WINDOWS_DYNAMIC: &str = "dynamic disks are not changed by tools outside Windows, and are deprecated there: copy the files to a new volume";
const DAMAGE: &str = "it may be damage, and a plan must not write to what it does not understand: find out what it is first";

/// Codes with their reason.
pub static UNCURED: &[(&[u16], &str)] = &[
    (
        &[104],
        "the length of a partition is a matter of what is on it: make that fit first, then grow or cut it",
    ),
    (
        &[105, 408],
        "the table has to be written again in the sectors that the device shows, which also moves every partition",
    ),
    (
        &[106],
        "it is a record for old boot loaders; Windows does not need it, ms-sys or a repair from the installation medium sets it",
    ),
    (&[107, 108, 901, 902], DAMAGE),
    (
        &[109],
        "nothing is wrong: it is said so that nobody moves it",
    ),
    (&[110, 501, 502, 503, 504, 506, 507], REPORTED),
    (
        &[505],
        "no layout makes requests larger: the application's, or a filesystem with blocks of that size",
    ),
    (
        &[206, 207],
        "the offset of the data in the members is set when an array is made; mdadm --grow --data-offset moves it in RAID 4, 5, 6 and 10, and a \
         member that is off gets that of the others when it is added anew",
    ),
    (&[208, 209, 210, 213], STATE),
    (
        &[211],
        "members are missing from what was named: name all of them",
    ),
    (
        &[212],
        "the firmware puts its volumes where it does: make the volume again in its set-up, or use md",
    ),
    (
        &[214],
        "the number of data disks makes the full stripe odd: a power of two of them, at the next rebuild",
    ),
    (
        &[215],
        "this format has no place for it; ext4 and XFS have one, at the next rebuild",
    ),
    (
        &[216, 619],
        "what is laid end to end is striped only by making the volume again",
    ),
    (
        &[301],
        "it is a mean over all files: straddle check FILE answers for one of them",
    ),
    (
        &[306],
        "file records are enlarged only by making the volume again on Windows (format /L), worth it for very many small files alone",
    ),
    (
        &[308],
        "the filesystem's own tools make it fit (resize2fs, xfs_growfs, ntfsresize), once it is known which of the two is right",
    ),
    (
        &[309],
        "extents change when a file is written again: copy it within the filesystem, and look at the copy",
    ),
    (
        &[310],
        "the page is set when a database is created: dump and load it, or put it on another volume",
    ),
    (
        &[401, 402, 403, 404, 409, 410, 411, 412, 413, 417],
        "a virtual disk is converted into a new file, with its guest shut down",
    ),
    (
        &[405],
        "the file lies where its filesystem put it: copy it after making room, or move the partition below",
    ),
    (&[406, 407, 414, 415, 416], GUEST),
    (
        &[601],
        "LUKS2 that is open: unmount what is in it and cryptsetup reencrypt --sector-size 4096 DEVICE with it open, or close it and plan again; \
         LUKS1: close it and cryptsetup convert --type luks2 DEVICE first; plain dm-crypt, BitLocker and what is left: re-create it",
    ),
    (
        &[603],
        "a loop device begins where losetup --offset says: set it up again",
    ),
    (
        &[604, 605],
        "where extents begin is set by pvcreate --dataalignment: pvmove to a new physical volume",
    ),
    (
        &[606],
        "the chunk of a thin pool is set when it is made: lvcreate --chunksize",
    ),
    (
        &[607],
        "two layers of stripes are made by hand: leave one of them out at the next rebuild",
    ),
    (
        &[609],
        "what carries it must become longer; what was cut off does not come back by that",
    ),
    (
        &[610],
        "cryptsetup reencrypt --resume-only brings it to its end",
    ),
    (
        &[611],
        "make-bcache --data-offset sets it when the backing device is made",
    ),
    (
        &[612],
        "integritysetup open --integrity-bitmap-mode writes data once, and is a choice about what a crash may cost",
    ),
    (
        &[615],
        "volblocksize and recordsize are chosen for what is created next (16k to 64k), the width when a RAID-Z is made",
    ),
    (
        &[617],
        "an upgraded datastore keeps its layout: empty it (Storage vMotion) and make it again",
    ),
    (&[618, 620], WINDOWS_DYNAMIC),
    (
        &[621],
        "interleave and columns of a storage space are set when it is made: New-VirtualDisk -Interleave -NumberOfColumns",
    ),
    (
        &[702],
        "what a device writes atomically is its own matter: keep torn-page protection on",
    ),
    (&[903, 904, 905, 906, 907, 908, 909, 910, 911], FACTS),
];

#[cfg(test)]
mod tests {
    use super::reason;
    use crate::change::KINDS;
    use straddle_rules::RULES;

    #[test]
    fn each_rule_has_a_cure_or_a_reason_why_there_is_none() {
        let left: Vec<String> = RULES
            .iter()
            .map(|rule| rule.code)
            .filter(|code| !KINDS.iter().any(|kind| kind.cures.contains(code)))
            .filter(|code| reason(*code).is_none())
            .map(|code| code.to_string())
            .collect();
        assert_eq!(left, Vec::<String>::new());
    }

    #[test]
    fn each_reason_is_of_a_rule_and_given_once() {
        let mut codes: Vec<u16> = super::UNCURED
            .iter()
            .flat_map(|(codes, _)| codes.iter().copied())
            .collect();
        let all = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all);
        assert!(
            codes
                .iter()
                .all(|code| RULES.iter().any(|rule| rule.code.0 == *code))
        );
    }
}

//! md members whose superblock is found from their end: what STR104 says of other lengths is what mdadm finds there.

use std::path::Path;
use std::process::Command;

use straddle::check::{Options, Outcome};

/// Where the partition begins, in sectors.
const START: u64 = 2048;
const MAGIC: u32 = 0xa92b_4efc;

/// Sets 32-bit words, each with its index.
fn set(block: &mut [u8], words: &[(usize, u32)]) {
    for (at, word) in words {
        block[at * 4..][..4].copy_from_slice(&word.to_le_bytes());
    }
}

/// The sum of all words, its upper half added to the lower.
fn sum(block: &[u8]) -> u32 {
    let words = block.chunks_exact(4);
    let sum: u64 = words
        .map(|word| u64::from(u32::from_le_bytes(word.try_into().expect("four"))))
        .sum();
    u32::try_from((sum & 0xffff_ffff) + (sum >> 32)).expect("few words")
}

/// A superblock of a mirror with one of two members, for a device of so many sectors: where it lies, and its bytes.
fn superblock(version: &str, sectors: u64) -> (u64, Vec<u8>) {
    let low = |n: u64| u32::try_from(n).expect("small");
    if version == "0.90" {
        let at = sectors / 128 * 128 - 128;
        let mut block = vec![0; 4096];
        let mirror = [
            (0, MAGIC),
            (2, 90),
            (5, 0x1234_5678),
            (7, 1),
            (8, low(at / 2)),
            (9, 1),
            (10, 2),
            (33, 1),
            (34, 1),
            (35, 1),
            (39, 1),
        ];
        set(&mut block, &mirror);
        // The first disk, and that it is this one: active and in sync.
        set(&mut block, &[(128 + 4, 6), (992 + 4, 6)]);
        let sum = sum(&block);
        set(&mut block, &[(38, sum)]);
        return (at, block);
    }
    let at = (sectors - 16) / 8 * 8;
    let mut block = vec![0; 260];
    let mirror = [
        (0, MAGIC),
        (1, 1),
        (4, 0x1234_5678),
        (18, 1),
        (20, low(at)),
        (23, 2),
        (34, low(at)),
        (36, low(at)),
        (42, 0x1234_5678),
        (50, 1),
        (52, u32::MAX),
        (53, u32::MAX),
        (55, 2),
        // It is the first; of the second nothing is known.
        (64, 0xffff_0000),
    ];
    set(&mut block, &mirror);
    let sum = sum(&block);
    set(&mut block, &[(54, sum)]);
    (at, block)
}

/// Whether mdadm finds a superblock in the first so many sectors of the partition.
fn is_found(partition: &Path, sectors: u64) -> bool {
    let file = std::fs::File::options()
        .write(true)
        .open(partition)
        .expect("it is there");
    file.set_len(sectors * 512).expect("room");
    let said = Command::new("mdadm")
        .arg("--examine")
        .arg(partition)
        .output()
        .expect("cannot run `mdadm` (Debian package mdadm)");
    said.status.success() && String::from_utf8_lossy(&said.stdout).contains("Magic : a92b4efc")
}

#[test]
fn a_superblock_stays_where_mdadm_looks_for_it_at_the_lengths_that_are_named() {
    let folder = tempfile::tempdir().expect("a directory");
    let (disk, part) = (folder.path().join("disk.img"), folder.path().join("part"));
    let mut kinds = std::collections::BTreeMap::new();
    for version in ["0.90", "1.0"] {
        // Over 64 KiB and a bit, each remainder of a physical sector but none.
        for sectors in (20_481..20_610_u64)
            .step_by(3)
            .filter(|sectors| sectors % 8 != 0)
        {
            let (at, block) = superblock(version, sectors);
            let mut bytes = vec![0; usize::try_from((START + sectors) * 512).expect("small")];
            let [s0, s1, s2, s3] = u32::try_from(sectors).expect("small").to_le_bytes();
            let entry = [0, 0, 2, 0, 0xfd, 0, 0, 0, 0, 8, 0, 0, s0, s1, s2, s3];
            bytes[446..462].copy_from_slice(&entry);
            bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
            let place = usize::try_from((START + at) * 512).expect("small");
            bytes[place..][..block.len()].copy_from_slice(&block);
            std::fs::write(&disk, &bytes).expect("room");
            let content = usize::try_from(START * 512).expect("small");
            std::fs::write(&part, &bytes[content..]).expect("room");
            assert!(
                is_found(&part, sectors),
                "{version}, {sectors}: not as mdadm writes it"
            );

            let check = straddle::check(std::slice::from_ref(&disk), Options::default());
            let report = check.expect("no captured host").reports().next();
            let outcome = report.expect("one").outcome.expect("it can be read");
            let Outcome::Checked(checked) = outcome else {
                panic!("an image");
            };
            let mut findings = checked.findings.iter();
            let of_length = findings.find(|finding| finding.code.to_string() == "STR104");
            let help = of_length.expect("it is no whole number").help.join(" ");
            let said = [
                ("shorter, or longer up to the next multiple", (true, true)),
                ("shorter it keeps it", (true, false)),
                ("made shorter, md does not find it", (false, true)),
                ("with any other whole number of sectors", (false, false)),
            ];
            let said: Vec<(bool, bool)> = said
                .into_iter()
                .filter(|(words, _)| help.contains(words))
                .map(|(_, kept)| kept)
                .collect();
            let shorter = sectors / 8 * 8;
            let found = (is_found(&part, shorter), {
                std::fs::write(&part, &bytes[content..]).expect("room");
                is_found(&part, shorter + 8)
            });
            assert_eq!(said, [found], "{version}, {sectors} sectors: {help}");
            *kinds.entry((version, found)).or_insert(0) += 1;
        }
    }
    // Both answers are among them, for either version.
    assert!(kinds.len() >= 3, "{kinds:?}");
}

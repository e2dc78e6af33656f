//! Plans and scripts for md arrays and LVM2 groups, from images of their members. The lab carries them out.

use crate::support::{lint, repository, straddle};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Where md keeps the superblock of version 1.2, and the places in it that are changed here.
const SUPERBLOCK: usize = 4096;
const DATA_OFFSET: usize = 0x80;
const CHECKSUM: usize = 0xd8;
const ROLES: usize = 0xdc;

/// Writes the members that a seed of the md corpus holds to `a.img`, `b.img` and so on, as `changed` leaves them.
fn members(seed: &str, folder: &Path, changed: impl Fn(usize, &mut [u8])) -> Vec<String> {
    let seed = fs::read(repository().join("fuzz/corpus/md").join(seed)).expect("a seed");
    let members = straddle_testkit::sparse::members(&seed)
        .into_iter()
        .enumerate();
    let named = ('a'..).zip(members).map(|(letter, (index, mut bytes))| {
        bytes.resize(4 << 20, 0);
        changed(index, &mut bytes);
        let name = format!("{letter}.img");
        fs::write(folder.join(&name), bytes).expect("writable");
        name
    });
    named.collect()
}

/// Lets the data of a member begin somewhere else, and corrects the checksum.
fn moved(member: &mut [u8], sectors: u64) {
    let block = &mut member[SUPERBLOCK..];
    block[DATA_OFFSET..DATA_OFFSET + 8].copy_from_slice(&sectors.to_le_bytes());
    block[CHECKSUM..CHECKSUM + 4].fill(0);
    let roles = usize::try_from(word(block, ROLES)).expect("few");
    let len = 256 + 2 * roles;
    let words = (0..len / 4).map(|n| word(block, 4 * n));
    let half = (len % 4 == 2).then(|| u64::from(block[len - 2]) | u64::from(block[len - 1]) << 8);
    let sum: u64 = words.chain(half).sum();
    let folded = (sum & 0xffff_ffff) + (sum >> 32);
    let folded = u32::try_from(folded & 0xffff_ffff).expect("32 bits");
    block[CHECKSUM..CHECKSUM + 4].copy_from_slice(&folded.to_le_bytes());
}

fn word(block: &[u8], at: usize) -> u64 {
    let bytes = block[at..at + 4].try_into().expect("four bytes");
    u64::from(u32::from_le_bytes(bytes))
}

fn fix(folder: &Path, targets: &[String], more: &[&str]) -> crate::support::Run {
    let mut args = vec!["fix"];
    args.extend(targets.iter().map(String::as_str));
    args.extend(more);
    straddle(folder, &args)
}

/// A script that is free of what shellcheck knows to be wrong.
fn script(folder: &Path, targets: &[String], more: &[&str]) -> String {
    let run = fix(folder, targets, more);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    fs::write(folder.join("fix.sh"), &run.stdout).expect("writable");
    lint(&run.stdout);
    run.stdout
}

/// Why the script does nothing.
fn refusal(folder: &Path) -> String {
    let run = Command::new("dash")
        .args(["fix.sh", "--yes"])
        .current_dir(folder)
        .output()
        .expect("dash, of the Debian package dash");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.starts_with("refused, nothing was written: "), "{said}");
    said
}

#[test]
fn an_array_whose_data_begin_off_the_sectors_is_recreated() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let members = members("raid5", folder, |number, bytes| {
        moved(bytes, if number == 1 { 2050 } else { 2048 });
    });
    let plan = fix(folder, &members, &[]);
    assert_eq!(plan.code, Some(0), "{}", plan.transcript());
    insta::assert_snapshot!("array_plan", plan.stdout);
    let text = script(folder, &members, &["--script", "mdadm"]);
    insta::assert_snapshot!("array_script", text);
    // The array does not run here: nothing is done.
    refusal(folder);

    let image = folder.join(&members[2]);
    let whole = fs::read(&image).expect("readable");
    let mut other = whole.clone();
    other[SUPERBLOCK + 16] ^= 1;
    fs::write(&image, &other).expect("writable");
    assert!(refusal(folder).contains("it is another disk"));
    fs::write(&image, &whole[..whole.len() - 512]).expect("writable");
    assert!(refusal(folder).contains("it is another disk"));
    // Two members in each other's place.
    fs::write(&image, &whole).expect("writable");
    fs::rename(folder.join(&members[0]), folder.join("x")).expect("renamed");
    fs::rename(folder.join(&members[1]), folder.join(&members[0])).expect("renamed");
    fs::rename(folder.join("x"), folder.join(&members[1])).expect("renamed");
    assert!(refusal(folder).contains("as its role"));
}

#[test]
fn an_array_that_is_not_whole_has_no_script() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let mut members = members("raid5", folder, |_, bytes| moved(bytes, 2050));
    members.pop();
    let run = fix(folder, &members, &["--script", "mdadm"]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(
        run.stderr.contains("name all of its members first"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_first_extent_of_a_group_goes_to_a_stripe_unit() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let seed = fs::read(repository().join("fuzz/corpus/lvm2/linear")).expect("a seed");
    let target = ["pv.img".to_owned()];
    fs::write(
        folder.join("pv.img"),
        straddle_testkit::sparse::unpacked(&seed),
    )
    .expect("writable");
    let stripes = ["--stripe-unit", "2M"];
    let plan = fix(folder, &target, &stripes);
    assert_eq!(plan.code, Some(0), "{}", plan.transcript());
    insta::assert_snapshot!("group_plan", plan.stdout);
    let mut args = vec!["--script", "lvm"];
    args.extend(stripes);
    let text = script(folder, &target, &args);
    insta::assert_snapshot!("group_script", text);
    refusal(folder);
    let mut other = fs::read(folder.join("pv.img")).expect("readable");
    other[544] ^= 1;
    fs::write(folder.join("pv.img"), &other).expect("writable");
    assert!(refusal(folder).contains("it is another disk"));
}

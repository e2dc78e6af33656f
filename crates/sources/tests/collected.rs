//! Replays the fuzzer's corpus of collected trees on a stable compiler, each seed also cut and with bytes changed.

use straddle_sources::Settings;
use straddle_sources::collected::{COLLECTORS, Gathering};
use straddle_testkit::{collected, repository};

#[test]
fn every_seed_is_read_whole_cut_and_changed() {
    let folder = repository().join("fuzz/corpus/collected");
    let entries = std::fs::read_dir(&folder).expect("a folder");
    let mut seeds = 0;
    for entry in entries {
        let bytes = std::fs::read(entry.expect("a seed").path()).expect("readable");
        seeds += 1;
        for end in (0..=bytes.len()).step_by(bytes.len().div_ceil(60).max(1)) {
            collected::tree(&bytes[..end]);
        }
        collected::tree(&bytes);
        for at in (0..bytes.len()).step_by(23) {
            let mut edited = bytes.clone();
            edited[at] ^= 0x11;
            collected::tree(&edited);
        }
    }
    assert!(seeds >= 6, "a seed for each kind of collection");
}

/// What is asked for of an encrypted disk is no answer to where partitions start.
#[test]
fn starts_of_partitions_are_asked_for_beside_the_start_of_encrypted_data() {
    let sos = COLLECTORS.iter().find(|one| one.name == "sosreport");
    let mut gathering = Gathering::new(sos.expect("it is read"), "", "sosreport-db1");
    let lsblk = "NAME    MAJ:MIN RM SIZE RO TYPE  MOUNTPOINTS\nsda       8:0    0  20G  0 disk  \n└─vault 253:0    0  20G  0 crypt /data\n";
    gathering.add("sos_commands/block/lsblk", lsblk.as_bytes().to_vec());
    let wanting = gathering.finish(&Settings::default()).wanting;
    let asks = |begin: &str| wanting.iter().any(|ask| ask.starts_with(begin));
    assert!(asks("starts of partitions"), "{wanting:#?}");
    assert!(asks("start of the data of "), "{wanting:#?}");
    assert!(!asks("start of sda"), "{wanting:#?}");
}

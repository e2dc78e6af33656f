//! LUKS, whose payload moves or whose header grows.

use std::path::Path;

use super::ways::{UUID, way};
use super::{kept, planned, run, sh, words};
use crate::support::in_memory;

pub(crate) const RAID5_OF_3: &[&str] = &["--stripe-unit", "64K", "--stripe-width", "192K"];
pub(crate) const LUKS2: &str = "printf secret > key; truncate -s 40M a.img; \
    cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file key --sector-size 4096 --label vault --uuid $UUID a.img; \
    head -c 25165824 /dev/urandom | dd of=a.img bs=1M seek=16 conv=notrunc status=none";

/// The volume key, and what is encrypted from byte `at` on.
fn encrypted(folder: &Path, at: u64, len: u64) -> String {
    let script = format!(
        "rm -f volume; cryptsetup luksDump -q --dump-volume-key --volume-key-file volume --key-file key a.img > /dev/null; \
         sha256sum < volume; dd if=a.img iflag=skip_bytes,count_bytes skip={at} count={len} bs=1M status=none | sha256sum"
    );
    sh(folder, &script)
}

#[test]
fn a_luks_payload_moves_with_its_key() {
    let ways = [
        (
            way(LUKS2, RAID5_OF_3, "cryptsetup", &["STR608"]),
            15_728_640,
        ),
        (
            way(
                LUKS2,
                &["--stripe-unit", "64K", "--stripe-width", "320K"],
                "cryptsetup",
                &["STR608"],
            ),
            15_728_640,
        ),
    ];
    // Both go to one place; the other width is for a soak.
    let few = if straddle_testkit::is_soak() { 2 } else { 1 };
    for (way, to) in ways.iter().take(few) {
        let folder = in_memory();
        let folder = folder.path();
        sh(folder, &format!("UUID={UUID}; {}", way.make));
        assert_eq!(planned(folder, way, &["a.img"]), way.codes);
        let before = encrypted(folder, 16 << 20, 24 << 20);
        let done = run(folder, &["--yes"]);
        assert!(done.status.success(), "{}", words(&done));
        assert_eq!(encrypted(folder, *to, 24 << 20), before);
        let said = sh(folder, "cryptsetup luksDump a.img");
        for word in [
            UUID,
            "vault",
            "aes-xts-plain64",
            "sector: 4096",
            &format!("offset: {to}"),
        ] {
            assert!(said.contains(word), "{word}: {said}");
        }
        kept(folder, way, &["a.img"]);
    }
}

/// Behind 63 sectors more there is no room nearer to the front: what is in it comes back from a backup.
#[test]
fn a_luks1_header_grows_only_when_the_contents_may_go() {
    let way = way(
        "printf secret > key; truncate -s 40M a.img; \
         cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 --key-file key --align-payload 63 --uuid $UUID a.img",
        &[],
        "cryptsetup",
        &["STR602"],
    );
    let folder = in_memory();
    let folder = folder.path();
    sh(folder, &format!("UUID={UUID}; {}", way.make));
    assert_eq!(planned(folder, &way, &["a.img"]), way.codes);
    let refused = run(folder, &["--yes"]);
    assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
    let done = run(folder, &["--yes", "--contents-are-backed-up"]);
    assert!(done.status.success(), "{}", words(&done));
    let said = sh(folder, "cryptsetup luksDump a.img");
    assert!(
        said.contains("Payload offset:\t4096") && said.contains(UUID),
        "{said}"
    );
    kept(folder, &way, &["a.img"]);
}

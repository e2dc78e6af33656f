//! What leaves a host in a capture: of each place that a reader touches, what the reader uses.

use std::collections::BTreeSet;
use std::path::PathBuf;
use straddle_sources::Settings;
use straddle_sources::linux::{Root, host};
use straddle_sources::{CaptureOptions, capture, capture_tree};

/// Ends of the paths of files whose text is used: a name, a model, a mode; with how many there have to be among the hosts.
const TEXTS: [&str; 8] = [
    "/model",
    "/dm/name",
    "/loop/backing_file",
    "/md/level",
    "/md/metadata_version",
    "/queue/zoned",
    "/bcache/block_size",
    "/bcache/bucket_size",
];

fn trees() -> Vec<(PathBuf, String)> {
    let folder = straddle_testkit::repository().join("tests/hosts");
    let mut trees = Vec::new();
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "tree")
        {
            let text = std::fs::read_to_string(&path).expect("UTF-8");
            trees.push((path, text));
        }
    }
    trees.sort();
    trees
}

fn captured(text: &str) -> String {
    let root = Root::from_tree("host", text).expect("a tree");
    capture_tree(&root, &CaptureOptions::default()).expect("a host")
}

/// Each file of each host, with a secret in its place and with one behind what it says.
#[test]
fn no_place_that_is_read_gives_away_what_is_not_used() {
    let secret = "Zecret77";
    let all_of_them = straddle_testkit::is_soak();
    let (mut tried, mut skipped, mut texts) = (0, 0, BTreeSet::new());
    for (path, text) in trees() {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let Some((name, value)) = line.split_once(" = ") else {
                continue;
            };
            let forms = [
                secret.to_owned(),
                format!("{value} {secret}"),
                format!("{value}\\n{secret} {secret}"),
            ];
            for (form, value) in forms.into_iter().enumerate() {
                // A twelfth of them; all in a soak.
                let is_drawn = (number + form * 5 + tried) % 12 == 0;
                if !all_of_them && !is_drawn {
                    skipped += 1;
                    continue;
                }
                let changed = format!("{name} = {value}");
                let mut all = lines.clone();
                all[number] = &changed;
                let root = Root::from_tree("host", &(all.join("\n") + "\n")).expect("a tree");
                // A host without its list of devices is none.
                let Ok(tree) = capture_tree(&root, &CaptureOptions::default()) else {
                    continue;
                };
                tried += 1;
                let is_used = TEXTS.iter().find(|end| name.ends_with(*end));
                match is_used {
                    Some(end) => drop(texts.insert(*end)),
                    None => {
                        let leaked = tree.lines().find(|line| line.contains(secret));
                        assert_eq!(leaked, None, "{}: {changed}", path.display());
                    }
                }
            }
        }
    }
    assert!(tried + skipped > 5000 && tried > 300, "{tried}, {skipped}");
    assert!(
        texts.len() >= if all_of_them { TEXTS.len() } else { 3 },
        "{texts:?}"
    );
}

/// A host with every kind of device-mapper target and several mounts; `%` is a secret of its own in each place.
const HOST: &str = "\
sys/block/sda/dev = 8:0
sys/block/sda/size = 8388608
sys/block/sda/queue/logical_block_size = 512
sys/block/sda/device/model = DISK
sys/block/sda/device/serial = %
sys/block/sda/device/wwid = naa.6001405aabbccdd0
sys/block/sda/sda1/partition = 1
sys/block/sda/sda1/dev = 8:1
sys/block/sda/sda1/start = 2048
sys/block/sda/sda1/size = 4194304
sys/block/sda/sda1/uevent = PARTUUID=%
sys/block/sdb/dev = 8:16
sys/block/sdb/size = 8388608
sys/block/sdb/queue/logical_block_size = 4096
proc/swaps = Filename % Type\\n/dev/sdb partition 8388604 0 -2 %\\n/swap-% file 1 0 -3
";

/// Kinds and parameters of targets. Those that are used are as they are in a kernel's answer.
const TARGETS: &[(&str, &str)] = &[
    ("linear", "8:0 2048 %"),
    ("striped", "2 128 8:0 0 8:16 2048 %"),
    (
        "crypt",
        "aes-% % 0 8:0 32768 4 allow_discards integrity:32:% sector_size:4096 keyring:%",
    ),
    (
        "crypt",
        "capi:xts(%)-plain64 :64:logon:cryptsetup:% 0 8:0 0",
    ),
    (
        "integrity",
        "8:0 0 32 J 6 internal_hash:hmac(sha256):% block_size:4096 journal_crypt:ctr(aes):% journal_mac:hmac(sha256):% \
         meta_device:% interleave_sectors:32768",
    ),
    (
        "verity",
        "1 8:0 8:16 4096 4096 100 1 sha-% % % 3 root_hash_sig_key_desc % ignore_zero_blocks",
    ),
    ("thin-pool", "8:0 8:16 128 0 3 skip_block_zeroing % %"),
    ("thin", "8:0 1 %"),
    ("cache", "8:0 8:16 8:1 128 1 % smq 2 % %"),
    (
        "writecache",
        "s 8:0 8:16 4096 4 high_watermark % low_watermark %",
    ),
    ("snapshot", "8:0 8:16 P 8 1 %"),
    ("snapshot-origin", "8:0 %"),
    ("log-writes", "8:0 8:16 %"),
    ("dust", "8:0 0 4096 %"),
    ("delay", "8:0 0 100 8:16 0 %"),
    ("flakey", "8:0 0 10 5 3 corrupt_bio_byte % %"),
    ("era", "8:0 8:16 128 %"),
    ("mirror", "userspace 4 % % 1024 nosync 2 8:0 0 8:16 0 1 %"),
    (
        "raid",
        "raid5_ls 7 128 region_size 1024 journal_dev % rebuild % 2 8:0 8:1 8:16 8:1 %",
    ),
    (
        "raid",
        "raid10 9 128 % % raid10_copies 2 raid10_format far data_offset 2048 2 - 8:1 - 8:16",
    ),
    (
        "multipath",
        "2 pg_init_retries % 1 % 2 1 service-time 1 % 1 1 8:0 % round-robin 0 1 1 8:16 %",
    ),
    ("zoned", "8:0 % key:%"),
    ("unheard-of", "8:0 % key=%,%"),
];

const MOUNTS: &[&str] = &[
    "30 1 8:1 /% /srv rw,% master:% propagate_from:% - xfs /dev/sda1 rw,sunit=128,key=%,swidth=256,prjquota=%",
    "31 1 8:16 /@% /data rw,noatime,% - ext4 /dev/sdb rw,stripe=32,journal_path=%,test_dummy_encryption=%",
    "32 1 0:40 / /net rw - cifs //%/share rw,username=%,password=%",
    "33 1 0:41 / /fuse rw - fuse.sshfs %@host: rw,user_id=%",
    "34 1 0:42 / /odd rw - fuse.odd /dev/fuse rw,fd=%,password=%",
    "35 1 8:1 / /bound rw - fuseblk % rw,user_id=%,passphrase=%",
    "36 1 0:43 / /ceph rw - ceph 10.0.0.1:/ rw,name=%,secret=%",
];

/// Each `%` is another secret.
fn filled(text: &str, secrets: &mut Vec<String>) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c == '%' {
            let secret = format!("Zq{:05}xK", secrets.len());
            out.push_str(&secret);
            secrets.push(secret);
        } else {
            out.push(c);
        }
    }
    out
}

fn secret_host(secrets: &mut Vec<String>) -> String {
    let mut text = filled(HOST, secrets);
    for (number, (kind, parameters)) in TARGETS.iter().enumerate() {
        let dm = format!("sys/block/dm-{number}");
        let parameters = filled(parameters, secrets);
        text += &format!(
            "{dm}/dev = 253:{number}\n{dm}/size = 65536\n{dm}/dm/name = volume{number}\n{dm}/dm/uuid = {}\n\
             .straddle/dm/dm-{number}/table = 0 65536 {kind} {parameters}\n",
            filled("CRYPT-LUKS2-%%", secrets),
        );
    }
    let mounts: Vec<String> = MOUNTS.iter().map(|line| filled(line, secrets)).collect();
    text += &format!("proc/self/mountinfo = {}\n", mounts.join("\\n"));
    for (path, answer) in [
        ("srv", "bsize=4096 frsize=4096 key=%"),
        ("data", "bsize=4096 frsize=4096 %"),
    ] {
        text += &format!(
            ".straddle/of/{path}/@statfs = {}\n",
            filled(answer, secrets)
        );
    }
    text
}

#[test]
fn every_option_of_every_table_and_mount_stays_at_home_and_the_report_is_the_same() {
    let mut secrets = Vec::new();
    let text = secret_host(&mut secrets);
    assert!(secrets.len() > 120, "{}", secrets.len());
    let live = Root::from_tree("host", &text).expect("a tree");
    let mut archive = Vec::new();
    capture(&live, &CaptureOptions::default(), &mut archive).expect("a host");
    let tree = captured(&text);
    let escaped = |secret: &str| {
        let bytes = || secret.bytes();
        [
            bytes()
                .map(|byte| format!("%{byte:02x}"))
                .collect::<String>(),
            bytes().map(|byte| format!("\\{byte:03o}")).collect(),
            secret.to_owned(),
        ]
    };
    for secret in &secrets {
        for form in escaped(secret) {
            let leaked = tree.lines().find(|line| line.contains(&form));
            assert_eq!(leaked, None, "{form}");
        }
    }
    let away = Root::from_archive("host", &archive).expect("an archive");
    let stack = |root: &Root| host(root, &Settings::default()).expect("a host");
    let (live, away) = (stack(&live), stack(&away));
    assert!(live.layers().len() > TARGETS.len() + 3, "{live:#?}");
    assert_eq!(live, away);
    // What is said of a live host does not hold the secrets either: reports travel, too.
    let said = format!("{live:?}");
    let told: Vec<&String> = secrets
        .iter()
        .filter(|secret| said.contains(*secret))
        .collect();
    assert!(told.is_empty(), "{told:?}");
}

/// Identifiers in the names that are used.
#[test]
fn identifiers_in_names_and_mount_points_are_replaced() {
    let identifiers = [
        "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
        "3600508b400105e210000900000490000",
        "iqn.2003-01.org.linux-iscsi.host:sn.42ab",
        "ata-WDC_WD40EFRX-68N32N0_WD-WCC7K0123456",
        "nvme-Samsung_SSD_970_S4EWNX0N123456",
        "eui.0025385b71b0a1c2",
        "nqn.2014-08.org.nvmexpress:uuid:77",
        "wwn-0x5000c500a1b2c3d4",
    ];
    let mut text = "sys/block/sda/dev = 8:0\nsys/block/sda/size = 8388608\n".to_owned();
    let mut mounts = Vec::new();
    for (number, identifier) in identifiers.iter().enumerate() {
        let dm = format!("sys/block/dm-{number}");
        text += &format!(
            "{dm}/dev = 253:{number}\n{dm}/size = 65536\n{dm}/dm/name = vol-{identifier}\n\
             .straddle/dm/dm-{number}/table = 0 65536 linear /dev/disk/by-id/{identifier} 0\n\
             sys/block/loop{number}/dev = 7:{number}\nsys/block/loop{number}/size = 8\n\
             sys/block/loop{number}/loop/backing_file = /srv/{identifier}/disk.img\n"
        );
        let point = identifier
            .replace('-', "\\\\x2d")
            .replace("\\\\x2d", "\\\\134x2d");
        mounts.push(format!(
            "4{number} 1 253:{number} / /mnt/{identifier} rw - xfs /dev/mapper/vol-{identifier} rw"
        ));
        mounts.push(format!(
            "5{number} 1 253:{number} / /run/{point} rw - xfs /dev/dm-{number} rw"
        ));
    }
    text += &format!("proc/self/mountinfo = {}\n", mounts.join("\\n"));
    let tree = captured(&text);
    for identifier in identifiers {
        // Its end is what tells it from others.
        let tail = &identifier[identifier.len() - 6..];
        let leaked = tree.lines().find(|line| {
            line.to_ascii_lowercase()
                .contains(&tail.to_ascii_lowercase())
        });
        assert_eq!(leaked, None, "{identifier}");
    }
    let names = tree.matches("/mnt/").count() + tree.matches("/run/").count();
    assert!(names >= 2 * identifiers.len(), "{tree}");
    let away = Root::from_tree("host", &tree).expect("a tree");
    let stack = host(&away, &Settings::default()).expect("a host");
    // One layer for each volume and the filesystem on it, still joined by their names.
    let layers = stack.layers().iter().filter(|layer| layer.name == "xfs");
    assert_eq!(layers.count(), identifiers.len());
}

/// Bytes of devices go on to another capture only where they are asked for.
#[test]
fn bytes_of_devices_are_in_a_capture_only_where_they_are_asked_for() {
    let text = "sys/block/sda/size = 1\n.straddle/metadata/sda = size 512\\n0 zeros 512\n";
    let root = Root::from_tree("host", text).expect("a tree");
    let of = |metadata| {
        let options = CaptureOptions {
            metadata,
            ..CaptureOptions::default()
        };
        capture_tree(&root, &options).expect("a host")
    };
    assert!(!of(false).contains("metadata"), "{}", of(false));
    assert!(of(true).contains(".straddle/metadata/sda = size 512\\n0 zeros 512"));
    let damaged = text.replace("zeros 512", "zeros 513");
    let root = Root::from_tree("host", &damaged).expect("a tree");
    let stack = host(&root, &Settings::default()).expect("a host");
    let said: Vec<&str> = stack.layers()[0]
        .anomalies
        .iter()
        .map(|anomaly| anomaly.detail.as_str())
        .collect();
    assert_eq!(
        said,
        [
            ".straddle/metadata/sda: line 2 overlaps the one before it, is empty, or lies beyond the end of the device"
        ]
    );
}

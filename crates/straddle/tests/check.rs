//! The front door: what is given is what `straddle check` would say of it, whoever asks.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use straddle::check::{CheckError, Kind, Known, Options, Outcome, Report, Scope, stacks};
use straddle::geometry::{Bytes, Unit};
use straddle::rules::Why;
use straddle::sources::{Overrides, Stated};
use straddle::stack::LayerKind;

/// A disk of 4 MiB with one MBR partition at sector 63.
fn image(path: &Path) {
    let mut bytes = vec![0; 4 << 20];
    bytes[446..462].copy_from_slice(&[0, 1, 1, 0, 7, 254, 63, 0, 63, 0, 0, 0, 0, 0x1f, 0, 0]);
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    std::fs::write(path, bytes).expect("room for 4 MiB");
}

/// What `fdisk -l` prints of a disk with one partition that starts there.
fn listing(disk: &str, start: u64) -> String {
    let end = start + 20_479;
    format!(
        "Disk /dev/{disk}: 16 MiB, 16777216 bytes, 32768 sectors\n\
         Units: sectors of 1 * 512 = 512 bytes\n\
         Sector size (logical/physical): 512 bytes / 4096 bytes\n\
         I/O size (minimum/optimal): 4096 bytes / 4096 bytes\n\
         Disklabel type: dos\n\n\
         Device     Boot Start   End Sectors Size Id Type\n\
         /dev/{disk}1       {start} {end}   20480  10M 83 Linux\n"
    )
}

fn codes(report: &Report) -> Vec<String> {
    match &report.outcome {
        Ok(Outcome::Checked(checked)) => {
            let codes = checked.findings.iter().map(|f| f.code.to_string());
            codes.collect()
        }
        other => panic!("{}: {other:?}", report.target),
    }
}

fn reports(targets: &[PathBuf], options: Options) -> (Scope, Vec<Report>) {
    let check = straddle::check(targets, options).expect("no captured host");
    (check.scope(), check.reports().collect())
}

#[test]
fn images_captured_text_and_what_is_neither_go_through_one_door() {
    let folder = tempfile::tempdir().expect("a directory");
    let at = |name: &str| folder.path().join(name);
    image(&at("disk.img"));
    std::fs::write(at("fdisk.txt"), listing("sda", 63)).expect("room");
    std::fs::write(at("aligned.txt"), listing("sdb", 2048)).expect("room");
    std::fs::write(at("letter.txt"), "Dear Sir,\nthe disks are slow.\n").expect("room");

    let (scope, found) = reports(&[at("disk.img")], Options::default());
    assert_eq!((scope, found.len()), (Scope::One, 1));
    assert_eq!(found[0].target, at("disk.img").display().to_string());
    assert!(codes(&found[0]).contains(&"STR101".to_owned()));

    let (scope, found) = reports(&[at("fdisk.txt")], Options::default());
    assert_eq!((scope, found.len()), (Scope::One, 1));
    assert!(codes(&found[0]).contains(&"STR101".to_owned()));

    let (_, found) = reports(&[at("letter.txt")], Options::default());
    let [only] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert!(matches!(
        only.outcome,
        Ok(Outcome::Unrecognised(Why::NoOutput))
    ));

    // Files of text that are named together are of one machine.
    let (scope, found) = reports(&[at("fdisk.txt"), at("aligned.txt")], Options::default());
    assert_eq!((scope, found.len()), (Scope::One, 1));
    let (scope, found) = reports(&[folder.path().to_owned()], Options::default());
    assert_eq!(scope, Scope::Folder);
    let names: Vec<&str> = found.iter().map(|r| r.target.as_str()).collect();
    assert_eq!(found.len(), 3, "{names:?}");
}

/// Words that tools print stand in programs, workflows and letters, too.
#[test]
fn words_of_tools_without_a_value_are_no_output_of_theirs() {
    let folder = tempfile::tempdir().expect("a directory");
    let others = [
        (
            "fields.py",
            "class Field:\n    name = None\n    data = None\n    log = None\n",
        ),
        (
            "release.yml",
            "      - uses: actions/upload-artifact@v4\n        with:\n          name: wheels\n          path: dist/\n",
        ),
        ("todo.txt", "version: 2\nname: tasks\nstate: open\n"),
        (
            "completion",
            "\tCOLUMNS=\"\n\t\tNAME KNAME PATH MAJ:MIN FSTYPE MOUNTPOINT\n\t\tLABEL UUID PTTYPE PARTTYPE\n\t\tRM SIZE STATE TYPE\n\t\"\n",
        ),
        (
            "layout.go",
            "type T struct {\n\t_ [1]byte\n\ta [2]byte // offset: 1\n\tb [2]uint16 // offset: 6\n}\n",
        ),
    ];
    for (name, text) in others {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("room");
        let found = reports(&[path], Options::default()).1;
        assert!(
            matches!(found[0].outcome, Ok(Outcome::Unrecognised(Why::NoOutput))),
            "{name}: {found:?}"
        );
    }
    // The same words, as zdb prints them.
    let path = folder.path().join("zdb.txt");
    let zdb = "    version: 5000\n    name: 'tank'\n    pool_guid: 1234\n    vdev_tree:\n        type: 'disk'\n        id: 0\n        \
               path: '/dev/sda1'\n        ashift: 9\n";
    std::fs::write(&path, zdb).expect("room");
    let found = reports(&[path], Options::default()).1;
    assert!(
        matches!(&found[0].outcome, Ok(Outcome::Checked(_))),
        "{found:?}"
    );
}

/// A changelog shows what somebody's disk looked like once. It is read when it is named.
#[test]
fn what_only_mentions_an_output_far_down_is_no_host_of_a_folder() {
    let folder = tempfile::tempdir().expect("a directory");
    let far = |above: usize, command: &str| {
        let entry = |number| format!("  * the table is written only once, says report {number}\n");
        let entries: String = (0..above).map(entry).collect();
        format!("{command}{entries}{}", listing("sda", 63))
    };
    let kernel = format!(
        "{}[    3.1] sd 2:0:0:0: [sdb] 4096-byte physical blocks\n",
        "[    1.2] pci 0000:00:1f.0: reserved by ACPI GPE0\n".repeat(200)
    );
    for (name, text, is_read) in [
        ("changelog", far(65, ""), false),
        ("post.txt", far(64, ""), true),
        ("session.txt", far(65, "root@db1:~# journalctl\n"), true),
        (
            "fdisk.8",
            format!(".TH FDISK 8\n{}", listing("sda", 63)),
            false,
        ),
        ("kern.log", kernel, true),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, &text).expect("room");
        std::fs::write(folder.path().join("disk.txt"), listing("sdb", 63)).expect("room");
        let named = reports(std::slice::from_ref(&path), Options::default()).1;
        assert!(
            matches!(named[0].outcome, Ok(Outcome::Checked(_))),
            "{name}: {named:?}"
        );
        let listed = reports(&[folder.path().to_owned()], Options::default()).1;
        let mentions = listed.iter().filter(|report| {
            matches!(report.outcome, Ok(Outcome::Unrecognised(Why::Mention)))
                && report.target == path.display().to_string()
        });
        assert_eq!(
            mentions.count(),
            usize::from(!is_read),
            "{name}: {listed:?}"
        );
        std::fs::remove_file(&path).expect("removed");
        // Packed, and where the folder is said to be a collection, it is the same.
        let packed = folder.path().join(format!("{name}.gz"));
        let file = std::fs::File::create(&packed).expect("room");
        let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packer.write_all(text.as_bytes()).expect("packed");
        packer.finish().expect("packed");
        let collection = Options {
            take_as: Some(Kind::Collection),
            ..Options::default()
        };
        for options in [Options::default(), collection] {
            let listed = reports(&[folder.path().to_owned()], options).1;
            let its = listed
                .iter()
                .find(|r| r.target == packed.display().to_string());
            let outcome = &its.expect("a report of the packed text").outcome;
            match is_read {
                true => assert!(
                    matches!(outcome, Ok(Outcome::Checked(_))),
                    "{name}: {outcome:?}"
                ),
                false => assert!(
                    matches!(outcome, Ok(Outcome::Unrecognised(Why::Mention))),
                    "{name}: {outcome:?}"
                ),
            }
        }
        std::fs::remove_file(&packed).expect("removed");
    }
}

#[cfg(unix)]
#[test]
fn text_whose_name_is_no_utf_8_is_still_known_to_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().expect("a directory");
    let odd = folder
        .path()
        .join(std::ffi::OsStr::from_bytes(b"lett\xffer.txt"));
    std::fs::write(&odd, "Dear Sir,\nthe disks are slow.\n").expect("room");
    std::fs::write(folder.path().join("fdisk.txt"), listing("sda", 63)).expect("room");
    let why = |targets: &[PathBuf]| -> Vec<Why> {
        let found = reports(targets, Options::default()).1.into_iter();
        let why = found.filter_map(|report| match report.outcome {
            Ok(Outcome::Unrecognised(why)) => Some(why),
            _ => None,
        });
        why.collect()
    };
    assert_eq!(why(std::slice::from_ref(&odd)), [Why::NoOutput]);
    assert_eq!(why(&[folder.path().to_owned()]), [Why::NoOutput]);
}

#[test]
fn what_cannot_be_checked_is_an_error_of_its_own() {
    let folder = tempfile::tempdir().expect("a directory");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("empty"), "").expect("room");
    std::fs::write(at("letter.txt"), "Dear Sir\n").expect("room");
    let error = |path: PathBuf, take_as| {
        let options = Options {
            take_as,
            ..Options::default()
        };
        let mut found = reports(&[path], options).1;
        found.remove(0).outcome.expect_err("nothing to check")
    };
    assert!(matches!(error(at("missing"), None), CheckError::Open(_)));
    assert!(matches!(error(at("empty"), None), CheckError::Empty(_)));
    let unknown = error(at("letter.txt"), Some(Kind::Text));
    assert!(matches!(
        unknown,
        CheckError::NothingKnown {
            why: Why::NoOutput,
            ..
        }
    ));
    assert!(unknown.to_string().contains("letter.txt: "), "{unknown}");
    let captured = Options {
        sysroot: Some(at("missing")),
        ..Options::default()
    };
    assert!(matches!(
        straddle::check(&[], captured).map(|_| ()),
        Err(CheckError::Source(_))
    ));
}

#[test]
fn many_targets_come_in_their_order_and_progress_is_heard() {
    let folder = tempfile::tempdir().expect("a directory");
    for number in 0..200 {
        image(&folder.path().join(format!("{number:03}.img")));
    }
    let targets = [folder.path().to_owned()];
    let check = straddle::check(&targets, Options::default()).expect("no captured host");
    let one_by_one: Vec<String> = check.reports().map(|report| report.target).collect();
    assert_eq!(one_by_one.len(), 200);
    assert!(one_by_one.is_sorted());

    let (made, mut together, mut heard) = (AtomicUsize::new(0), Vec::new(), Vec::new());
    let delivered: Result<(), ()> = check.in_parallel(
        |report| {
            made.fetch_add(1, Ordering::Relaxed);
            assert!(!codes(&report).is_empty());
            report.target
        },
        |target| {
            together.push(target);
            Ok(())
        },
        |done, all| heard.push((done, all)),
    );
    assert_eq!(delivered, Ok(()));
    assert_eq!(together, one_by_one);
    assert_eq!(made.into_inner(), 200);
    // How often depends on the cores; one of them hears nothing.
    assert!(heard.is_sorted());
    assert!(
        heard.last().is_none_or(|last| *last == (200, 200)),
        "{heard:?}"
    );

    let mut seen = 0;
    let stopped = check.in_parallel(
        |_| (),
        |()| {
            seen += 1;
            if seen == 7 { Err("full") } else { Ok(()) }
        },
        |_, _| (),
    );
    assert_eq!((stopped, seen), (Err("full"), 7));
}

#[test]
fn what_is_stated_of_a_device_takes_the_place_of_what_it_says() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("disk.img");
    image(&path);
    let codes_of = |physical| {
        let options = Options {
            overrides: Overrides::from(Stated {
                physical_sector: Unit::new(physical),
                ..Stated::default()
            }),
            ..Options::default()
        };
        codes(&reports(std::slice::from_ref(&path), options).1[0])
    };
    assert!(codes_of(4096).contains(&"STR101".to_owned()));
    assert!(!codes_of(512).contains(&"STR101".to_owned()));
}

#[test]
fn other_verbs_get_the_stacks_or_the_first_error_with_its_target() {
    let folder = tempfile::tempdir().expect("a directory");
    let at = |name: &str| folder.path().join(name);
    image(&at("disk.img"));
    let found = stacks(&[at("disk.img")], Overrides::default(), false).expect("an image");
    let [Known { name, stack, .. }] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(*name, at("disk.img").display().to_string());
    let mut layers = stack.layers().iter();
    let partition = layers.find(|layer| layer.kind == LayerKind::Partition);
    let place = partition.and_then(|layer| layer.placement.as_ref());
    assert_eq!(
        place.map(|place| place.value.start()),
        Some(Bytes::new(32_256))
    );
    let missing = [at("disk.img"), at("missing")];
    let (target, error) = stacks(&missing, Overrides::default(), false).expect_err("missing");
    assert_eq!(target, at("missing").display().to_string());
    assert!(matches!(error, CheckError::Open(_)));
    // What is called as a capture may be is none for that.
    std::fs::write(at("host.gz"), "no archive").expect("room");
    let found = stacks(&[at("host.gz")], Overrides::default(), false).expect("a text");
    assert!(found.is_empty(), "{found:?}");
}

//! Jobs made of tables that the real tools wrote, carried out on bytes, and read by the real tools again.

use std::fs;
use std::path::Path;
use std::process::Command;

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_realign::table::{self, Layout, Place, Table};
use straddle_realign::{Job, Refusal, View};

const MIB: u64 = 1 << 20;

pub(crate) fn tool(name: &str, args: &[&str], input: &str) -> String {
    use std::io::Write;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut child = Command::new(name)
        .args(args)
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .env("LC_ALL", "C")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{name} is needed: {error}"));
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {args:?}: {text}{errors}");
    text + &errors
}

fn sectors(start: u64, len: u64) -> Extent {
    Extent::new(Bytes::new(start * 512), Bytes::new(len * 512)).expect("small")
}

fn place(number: u64, from: (u64, u64), to: u64) -> Place {
    Place {
        number,
        from: sectors(from.0, from.1),
        to: sectors(to, from.1),
    }
}

fn layout(table: Table, size: u64, partitions: Vec<Place>, extended: Option<Place>) -> Layout {
    Layout {
        table,
        sector: SectorSize::B512,
        size: Bytes::new(size),
        partitions,
        extended,
    }
}

/// Bytes that tell where they were, in a disk with the table that a tool wrote into it.
fn disk(dir: &Path, size: u64, script: &str, free: &[Extent]) -> Vec<u8> {
    let path = dir.join("disk.img");
    let file = fs::File::create(&path).expect("creates");
    file.set_len(size).expect("it is sparse");
    tool("sfdisk", &["-q", path.to_str().expect("plain")], script);
    let mut bytes = fs::read(&path).expect("reads");
    for extent in free {
        let (start, end) = (extent.start().get(), extent.end().get());
        for at in (start..end).step_by(8) {
            let at = usize::try_from(at).expect("small");
            bytes[at..at + 8].copy_from_slice(&(at as u64).to_le_bytes());
        }
    }
    bytes
}

/// A job carried out.
pub(crate) fn done(before: &[u8], job: &Job, size: u64) -> Vec<u8> {
    let mut after = before.to_vec();
    after.resize(usize::try_from(size).expect("small"), 0);
    let index = |bytes: Bytes| usize::try_from(bytes.get()).expect("small");
    for part in job.parts() {
        let from = index(part.from);
        after.copy_within(from..from + index(part.len), index(part.to));
    }
    for edit in job.edits() {
        let at = index(edit.at);
        let place = &mut after[at..at + edit.after.len()];
        assert_eq!(place, edit.before, "{}", edit.what);
        place.copy_from_slice(&edit.after);
    }
    let view = View::new(&before, job, Bytes::new(size));
    let mut seen = vec![0; after.len()];
    let mut had = 0;
    while had < seen.len() {
        let at = Bytes::new(had as u64);
        let read = straddle_io::ReadAt::read_at(&view, at, &mut seen[had..]).expect("memory");
        had += read;
    }
    assert!(seen == after, "the view differs from what was done");
    after
}

fn dump(dir: &Path, bytes: &[u8]) -> String {
    let path = dir.join("after.img");
    fs::write(&path, bytes).expect("writes");
    let path = path.to_str().expect("plain");
    let verified = tool("sfdisk", &["--verify", path], "");
    assert!(
        !verified.contains("overlap") && !verified.contains("invalid"),
        "{verified}"
    );
    tool("sfdisk", &["--dump", path], "")
}

/// Numbers, starts and lengths in a dump.
fn starts(dump: &str) -> Vec<(u64, u64, u64)> {
    let field = |line: &str, name: &str| {
        let (_, rest) = line.split_once(name)?;
        rest.split(',').next()?.trim().parse().ok()
    };
    let lines = dump.lines().filter(|line| line.contains("start="));
    lines
        .map(|line| {
            let name = line.split(" :").next().expect("a name");
            let digits = name.rsplit("img").next().expect("a number");
            let number = digits.parse().expect("a number");
            let start = field(line, "start=").expect("a start");
            (number, start, field(line, "size=").expect("a size"))
        })
        .collect()
}

fn assert_moved(before: &[u8], after: &[u8], layout: &Layout, except: &[Extent]) {
    for place in &layout.partitions {
        for step in (0..place.from.len().get()).step_by(512) {
            let at = |extent: Extent| usize::try_from(extent.start().get() + step).expect("small");
            let (from, to) = (at(place.from), at(place.to));
            let is_edited = except
                .iter()
                .any(|edit| edit.start().get() < to as u64 + 512 && edit.end().get() > to as u64);
            assert!(
                is_edited || before[from..from + 512] == after[to..to + 512],
                "partition {} at byte {step}",
                place.number
            );
        }
    }
}

#[test]
fn primaries_of_an_mbr_move_either_way() {
    let dir = tempfile::tempdir().expect("a directory");
    let size = 64 * MIB;
    let script = "label: dos\nlabel-id: 0x12345678\nstart=63,size=20001,type=83,bootable\nstart=20064,size=60000,type=7\n";
    let (one, two) = ((63, 20001), (20064, 60000));
    let before = disk(
        dir.path(),
        size,
        script,
        &[sectors(63, 20001), sectors(20064, 60000)],
    );
    let up = layout(
        Table::Mbr,
        size,
        vec![place(1, one, 2048), place(2, two, 24576)],
        None,
    );
    let job = table::job(&before, &up).expect("room");
    let after = done(&before, &job, size);
    let found = dump(dir.path(), &after);
    assert_eq!(starts(&found), [(1, 2048, 20001), (2, 24576, 60000)]);
    assert!(
        found.contains("type=83, bootable") && found.contains("label-id: 0x12345678"),
        "{found}"
    );
    assert_moved(&before, &after, &up, &[]);
    // CHS as sfdisk writes it for the same table.
    let fresh = dir.path().join("fresh.img");
    let file = fs::File::create(&fresh).expect("creates");
    file.set_len(size).expect("sparse");
    tool(
        "sfdisk",
        &["-q", fresh.to_str().expect("plain")],
        &found.replace("after.img", "fresh.img"),
    );
    assert_eq!(fs::read(&fresh).expect("reads")[440..512], after[440..512]);
    // And back.
    let down = layout(
        Table::Mbr,
        size,
        vec![place(1, (2048, 20001), 63), place(2, (24576, 60000), 20064)],
        None,
    );
    let job = table::job(&after, &down).expect("room");
    let again = done(&after, &job, size);
    assert_eq!(again[..512], before[..512]);
    assert_moved(&after, &again, &down, &[]);
}

#[test]
fn logical_partitions_take_their_boot_records_along() {
    let dir = tempfile::tempdir().expect("a directory");
    let size = 64 * MIB;
    let script = "label: dos\nstart=63,size=9000,type=83\nstart=9135,size=100000,type=f\nstart=9198,size=20000,type=83\n\
                  start=29300,size=30000,type=82\nstart=59400,size=40001,type=8e\n";
    let from = [(9198, 20000), (29300, 30000), (59400, 40001)];
    let all: Vec<Extent> = from
        .iter()
        .map(|(start, len)| sectors(*start, *len))
        .collect();
    let before = disk(dir.path(), size, script, &all);
    let to = [10240, 32768, 63488];
    let logical = (5..).zip(from).zip(to);
    let mut partitions: Vec<Place> = logical.map(|((n, from), to)| place(n, from, to)).collect();
    partitions.insert(0, place(1, (63, 9000), 63));
    let extended = Place {
        number: 2,
        from: sectors(9135, 100_000),
        to: sectors(9135, 100_000),
    };
    let wanted = layout(Table::Mbr, size, partitions, Some(extended));
    let job = table::job(&before, &wanted).expect("room");
    let after = done(&before, &job, size);
    let found = dump(dir.path(), &after);
    let places: Vec<_> = starts(&found);
    assert_eq!(
        places,
        [
            (1, 63, 9000),
            (2, 9135, 100_000),
            (5, 10240, 20000),
            (6, 32768, 30000),
            (7, 63488, 40001)
        ]
    );
    for kind in ["type=83", "type=f", "type=82", "type=8e"] {
        assert!(found.contains(kind), "{found}");
    }
    assert_moved(&before, &after, &wanted, &[]);
    // The extended partition itself moves along, as where it would overlap what moves in front of it.
    let mut further = wanted.clone();
    further.partitions[0].to = sectors(2048, 9000);
    if let Some(extended) = &mut further.extended {
        extended.to = sectors(11264, 100_000);
    }
    further.partitions[1].to = sectors(12288, 20000);
    let job = table::job(&before, &further).expect("room");
    let after = done(&before, &job, size);
    let places = starts(&dump(dir.path(), &after));
    assert_eq!(
        places[..3],
        [(1, 2048, 9000), (2, 11264, 100_000), (5, 12288, 20000)]
    );
    assert_moved(&before, &after, &further, &[]);
    // Without a sector for the boot record.
    let mut tight = wanted;
    tight.partitions[2].to = sectors(30240, 30000);
    let why = table::job(&before, &tight).expect_err("no room");
    assert!(
        why.to_string()
            .contains("no free sector for the boot record"),
        "{why}"
    );
}

#[test]
fn both_copies_of_a_gpt_are_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let size = 64 * MIB;
    let script = "label: gpt\nfirst-lba: 34\nstart=34,size=30000,name=first\nstart=30100,size=50003,name=second\n";
    let (one, two) = ((34, 30000), (30100, 50003));
    let before = disk(
        dir.path(),
        size,
        script,
        &[sectors(34, 30000), sectors(30100, 50003)],
    );
    let wanted = layout(
        Table::Gpt,
        size,
        vec![place(1, one, 2048), place(2, two, 32768)],
        None,
    );
    let job = table::job(&before, &wanted).expect("room");
    assert_eq!(
        job.edits().len(),
        6,
        "two entries and a header in each copy"
    );
    let after = done(&before, &job, size);
    assert_eq!(
        starts(&dump(dir.path(), &after)),
        [(1, 2048, 30000), (2, 32768, 50003)]
    );
    let path = dir.path().join("after.img");
    let path = path.to_str().expect("plain");
    let verified = tool("sgdisk", &["-v", path], "");
    assert!(verified.contains("No problems found"), "{verified}");
    // The second copy by itself.
    let mut alone = after.clone();
    alone[512..1024].fill(0);
    fs::write(path, &alone).expect("writes");
    let recovered = tool("sfdisk", &["--dump", path], "");
    assert_eq!(starts(&recovered), [(1, 2048, 30000), (2, 32768, 50003)]);
    // A longer disk takes the second copy to its end.
    let longer = Layout {
        size: Bytes::new(size + 3 * MIB),
        partitions: vec![place(1, one, 2048), place(2, two, 87000)],
        ..wanted.clone()
    };
    let job = table::job(&before, &longer).expect("room");
    let after = done(&before, &job, size + 3 * MIB);
    assert_eq!(
        starts(&dump(dir.path(), &after)),
        [(1, 2048, 30000), (2, 87000, 50003)]
    );
    let verified = tool("sgdisk", &["-v", path], "");
    assert!(verified.contains("No problems found"), "{verified}");
    assert_moved(&before, &after, &longer, &[]);
    // Damage anywhere in a copy is refused.
    let last = before.len();
    for at in [
        512 + 16,
        1024 + 3,
        1024 + 40,
        last - 512 + 56,
        last - 33 * 512 + 33,
    ] {
        let mut damaged = before.clone();
        damaged[at] ^= 1;
        let why = table::job(&damaged, &wanted).expect_err("damaged");
        assert!(
            why.to_string().contains("the GPT is damaged"),
            "{at}: {why}"
        );
    }
}

#[test]
fn what_is_not_what_was_seen_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let size = 16 * MIB;
    let script = "label: dos\nstart=63,size=20001,type=83\n";
    let before = disk(dir.path(), size, script, &[]);
    let at = |to| layout(Table::Mbr, size, vec![place(1, (63, 20001), to)], None);
    let refused = |bytes: &[u8], layout: &Layout| -> Refusal {
        table::job(&bytes.to_vec(), layout).expect_err("refused")
    };
    let seen = layout(Table::Mbr, size, vec![place(1, (64, 20001), 2048)], None);
    assert!(refused(&before, &seen).why.contains("changed since"));
    let mut second = before.clone();
    second[446 + 16 + 4] = 0x83;
    second[446 + 16 + 8..446 + 32].copy_from_slice(&[0, 0x70, 0, 0, 0, 1, 0, 0]);
    assert!(refused(&second, &at(2048)).why.contains("entry 2 is used"));
    assert!(refused(&before, &at(20000)).why.contains("the disk has"));
    assert!(refused(&before, &at(0)).why.contains("sector of the table"));
    let mut short = at(2048);
    short.partitions[0].to = sectors(2048, 20000);
    assert!(refused(&before, &short).why.contains("512 B shorter"));
    let mut odd = at(2048);
    odd.partitions[0].to =
        Extent::new(Bytes::new(1_048_577), Bytes::new(20001 * 512)).expect("small");
    assert!(
        refused(&before, &odd)
            .why
            .contains("inside a sector of 512")
    );
    let overlapping = layout(
        Table::Mbr,
        size,
        vec![place(1, (63, 20001), 2048), place(2, (20064, 100), 20064)],
        None,
    );
    assert!(
        refused(&before, &overlapping)
            .why
            .contains("would overlap partition 2")
    );
}

#[test]
fn no_byte_of_a_table_does_harm() {
    let dir = tempfile::tempdir().expect("a directory");
    let size = 16 * MIB;
    let logical = "label: dos\nstart=63,size=2000,type=83\nstart=4096,size=20000,type=f\nstart=4159,size=4000,type=83\nstart=9000,size=4000,type=82\n";
    let gpt = "label: gpt\nfirst-lba: 34\nstart=34,size=3000\nstart=3100,size=5003\n";
    let disks = [
        (
            disk(dir.path(), size, logical, &[]),
            layout(
                Table::Mbr,
                size,
                vec![
                    place(1, (63, 2000), 2048),
                    place(5, (4159, 4000), 6144),
                    place(6, (9000, 4000), 12288),
                ],
                Some(Place {
                    number: 2,
                    from: sectors(4096, 20_000),
                    to: sectors(4096, 20_000),
                }),
            ),
            vec![440..512, 4096 * 512 + 440..4096 * 512 + 512],
        ),
        (
            disk(dir.path(), size, gpt, &[]),
            layout(
                Table::Gpt,
                size + MIB,
                vec![place(1, (34, 3000), 2048), place(2, (3100, 5003), 8192)],
                None,
            ),
            vec![440..512, 512..604, 1024..1300],
        ),
    ];
    for (mut bytes, layout, places) in disks {
        table::job(&bytes, &layout).expect("it is sound");
        let mut refused = 0;
        for at in places.into_iter().flatten() {
            let was = bytes[at];
            for value in [0, 1, 0x7f, 0x80, 0xff, !was, was.wrapping_add(1)] {
                bytes[at] = value;
                // Whatever it says: a job whose edits expect what is there, or a refusal.
                match table::job(&bytes, &layout) {
                    Ok(job) if at % 32 == 0 => drop(done(&bytes, &job, layout.size.get())),
                    Ok(_) => {}
                    Err(refusal) => {
                        assert!(!refusal.instead.is_empty());
                        refused += 1;
                    }
                }
            }
            bytes[at] = was;
        }
        assert!(refused > 100, "{refused}");
        // Cut anywhere.
        for len in [0, 1, 511, 512, 600, 1024, 4096 * 512 + 100] {
            let cut = bytes[..len].to_vec();
            assert!(table::job(&cut, &layout).is_err(), "{len}");
        }
    }
}

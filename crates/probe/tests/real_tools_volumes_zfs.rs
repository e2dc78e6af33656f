//! ZFS against zfs-fuse: what `zpool create` made on files must be read as `zdb -l` prints it, and what `zdb -R` reads at an
//! address of a vdev must lie where the map says.
//!
//! The daemon of zfs-fuse serves the whole machine, so that one test makes all pools.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use straddle_geometry::{Bytes, Map};
use straddle_io::{Reader, Target};
use straddle_probe::volume::{Assembly, Below, Part, Recognised, VolumeFormat};
use straddle_probe::{Window, registry};
use straddle_stack::{AnomalyKind, GridRole, Key, Layer, LayerKind, Value};
use straddle_testkit::zfs_fuse::{Daemon, tool};

const DATA_START: u64 = 4 << 20;

fn format() -> &'static VolumeFormat {
    let mut formats = registry::VOLUMES.iter();
    formats.find(|format| format.name == "zfs").expect("zfs")
}

fn must(words: &[&str]) -> Vec<u8> {
    let (done, stdout, said) = tool(words);
    assert!(
        done,
        "{words:?}: {said}{}",
        String::from_utf8_lossy(&stdout)
    );
    stdout
}

/// What `zdb -l` prints of the first label it can read: keys with all that they are in, `vdev_tree/children[0]/guid`.
/// No label changes between two questions.
fn zdb(path: &Path) -> Arc<BTreeMap<String, String>> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Arc<BTreeMap<String, String>>>> =
        Mutex::new(BTreeMap::new());
    if let Some(known) = KNOWN.lock().expect("whole").get(path) {
        return Arc::clone(known);
    }
    let label = Arc::new(printed(path));
    let mut known = KNOWN.lock().expect("whole");
    known.insert(path.to_owned(), Arc::clone(&label));
    label
}

fn printed(path: &Path) -> BTreeMap<String, String> {
    let text = String::from_utf8(must(&["zdb", "-l", path.to_str().expect("text")])).expect("text");
    let mut out = BTreeMap::new();
    let mut open: Vec<(usize, String)> = Vec::new();
    let lines = text.lines().skip_while(|line| !line.starts_with(' '));
    for line in lines.take_while(|line| line.starts_with(' ')) {
        let indent = line.len() - line.trim_start().len();
        open.retain(|(depth, _)| *depth < indent);
        let (key, value) = line.trim().split_once(':').expect("a pair");
        let holders = open.iter().map(|(_, key)| key.as_str());
        let full: Vec<&str> = holders.chain([key]).collect();
        let full = full.join("/");
        if value.trim().is_empty() {
            open.push((indent, key.to_owned()));
        } else {
            out.insert(full, value.trim().trim_matches('\'').to_owned());
        }
    }
    out
}

fn value(layer: &Layer, key: Key) -> String {
    layer.attribute(key).expect("a fact").value.to_string()
}

fn member_value(found: &Recognised, key: Key) -> String {
    let mut attributes = found.detected.attributes.iter();
    let attribute = attributes.find(|attribute| attribute.key == key);
    attribute.expect("a fact").value.value.to_string()
}

/// Everything that is said of each device by itself.
fn check_member(path: &Path, found: &Recognised) {
    let label = zdb(path);
    assert_eq!(found.set, label["pool_guid"], "{}", path.display());
    assert_eq!(found.member, label["guid"]);
    for (key, name) in [
        (Key::Pool, "name"),
        (Key::PoolGuid, "pool_guid"),
        (Key::VdevGuid, "guid"),
        (Key::Version, "version"),
        (Key::Txg, "txg"),
    ] {
        assert_eq!(member_value(found, key), label[name], "{name}");
    }
    let state = ["active", "exported", "destroyed"];
    let said = label["state"].parse::<usize>().expect("a number");
    assert_eq!(member_value(found, Key::State), state[said]);
    let kinds: Vec<AnomalyKind> = found
        .detected
        .anomalies
        .iter()
        .map(|odd| odd.kind)
        .collect();
    assert_eq!(kinds, [], "{:?}", found.detected.anomalies);
    let leaves = label.keys().filter(|key| key.ends_with("/guid"));
    let leaves = leaves.filter(|key| {
        let holder = key.trim_end_matches("guid");
        !label.contains_key(&format!("{holder}children[0]/guid"))
    });
    let leaves = u64::try_from(leaves.count()).expect("few");
    let expected = (label["vdev_children"] == "1").then_some(leaves);
    assert_eq!(found.of, expected);
}

/// The name that tools give a top-level vdev.
fn top_name(label: &BTreeMap<String, String>) -> String {
    let parity = label.get("vdev_tree/nparity").map_or("", String::as_str);
    format!(
        "{}{parity}-{}",
        label["vdev_tree/type"], label["vdev_tree/id"]
    )
}

/// Holds the layers of a pool against the labels of all its devices, of which `given` were assembled.
fn check_pool(files: &[&PathBuf], given: &[usize], assembly: &Assembly) {
    let mut seen = 0;
    let mut tops: Vec<u64> = Vec::new();
    for file in files {
        let label = zdb(file);
        let Some(id) = label.get("vdev_tree/id") else {
            continue;
        };
        let id: u64 = id.parse().expect("a number");
        if tops.contains(&id) {
            continue;
        }
        tops.push(id);
        let pool = &label["name"];
        let name = format!("{pool}/{}", top_name(&label));
        let is_log = label["vdev_tree/is_log"] == "1";
        let single = label["vdev_children"] == "1";
        let title = match (is_log, single) {
            (true, _) => format!("{name} (log)"),
            (false, true) => pool.clone(),
            (false, false) => name.clone(),
        };
        let node = assembly
            .nodes
            .iter()
            .find(|node| node.layer.kind != LayerKind::Array && node.layer.name == title);
        let node = node.unwrap_or_else(|| panic!("{title} of {assembly:#?}"));
        seen += 1;
        let shift: u32 = label["vdev_tree/ashift"].parse().expect("a number");
        let asize: u64 = label["vdev_tree/asize"].parse().expect("a number");
        let unit = node.layer.grid(GridRole::AllocationUnit).expect("a grid");
        assert_eq!(unit.value.unit().get(), 1 << shift, "{title}");
        assert_eq!(node.layer.size.as_ref().expect("a size").value.get(), asize);
        let slab: u32 = label["vdev_tree/metaslab_shift"].parse().expect("a number");
        let slab = Value::Bytes(Bytes::new(1 << slab));
        let said = node.layer.attribute(Key::MetaslabSize).expect("it");
        assert_eq!(said.value, slab);
        assert!(
            node.layer.attribute(Key::Txg).is_some(),
            "an uberblock of {title}"
        );
        if !label.contains_key("vdev_tree/children[0]/guid") {
            assert_eq!(
                node.layer.map,
                Map::Linear {
                    start: Bytes::new(DATA_START)
                }
            );
            continue;
        }
        let [Below::Node(array)] = node.below.as_slice() else {
            panic!("on {:?}", node.below)
        };
        let array = &assembly.nodes[*array];
        seen += 1;
        assert_eq!(array.layer.name, name);
        let level = top_name(&label);
        let level = level.rsplit_once('-').expect("an id").0.to_owned();
        assert_eq!(value(&array.layer, Key::Level), level);
        assert_eq!(
            array.layer.size.as_ref().expect("a size").value.get(),
            asize
        );
        for (index, below) in array.below.iter().enumerate() {
            let holder = format!("vdev_tree/children[{index}]");
            match below {
                Below::Part(part) => {
                    let file = files[given[*part]];
                    assert_eq!(zdb(file)["guid"], label[&format!("{holder}/guid")]);
                }
                Below::Missing(name) => {
                    let path = &label[&format!("{holder}/path")];
                    assert_eq!(name, path);
                    assert!(!given.iter().any(|at| files[*at].to_str() == Some(path)));
                }
                Below::Node(_) => panic!("no groups in groups here"),
            }
        }
        let children =
            (0..64).filter(|n| label.contains_key(&format!("vdev_tree/children[{n}]/guid")));
        assert_eq!(array.below.len(), children.count());
        match &array.layer.map {
            Map::Striped(striping) => {
                assert_eq!(striping.unit.get(), 1 << shift);
                assert!(striping.starts.iter().all(|at| at.get() == DATA_START));
            }
            Map::Raid(raid) => assert!(raid.starts.iter().all(|at| at.get() == DATA_START)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, assembly.nodes.len(), "{assembly:#?}");
}

/// Recognises and assembles the files given, and compares both with what zdb says.
fn check(files: &[&PathBuf], given: &[usize]) -> Assembly {
    let targets: Vec<Target> = given
        .iter()
        .map(|at| Target::open(files[*at]).expect("opens"))
        .collect();
    let readers: Vec<Reader<'_>> = targets.iter().map(|target| Reader::new(target)).collect();
    let mut parts = Vec::new();
    let mut sets = Vec::new();
    for (at, reader) in given.iter().zip(&readers) {
        let window = Window::whole(reader, None);
        let found = format().run(&window).expect("readable").expect("zfs");
        check_member(files[*at], &found);
        sets.push(found.set);
        let name = files[*at].to_str().expect("text");
        parts.push(Part {
            window,
            name,
            serial: None,
        });
    }
    sets.dedup();
    assert_eq!(sets.len(), 1);
    let assembly = (format().assemble)(&parts).expect("readable");
    check_pool(files, given, &assembly);
    assembly
}

/// Reads `len` bytes of a vdev's data at `offset`, as a block of that size would lie, by the map: the published order of
/// columns (`vdev_raidz_map_alloc`) says which addresses of the vdev hold data and which parity.
fn by_map(array: &Layer, files: &[&PathBuf], parity: u64, offset: u64, len: u64) -> Vec<u8> {
    let Map::Striped(striping) = &array.map else {
        panic!("striped")
    };
    let (unit, columns) = (striping.unit.get(), striping.starts.len() as u64);
    let (first, sectors) = (offset / unit, len / unit);
    let data = columns - parity;
    let (rows, rest) = (sectors / data, sectors % data);
    let full = if rest == 0 { 0 } else { rest + parity };
    let used = if rows == 0 { full } else { columns };
    // RAID-Z1 swaps the parity with the first data in every other MiB.
    let swapped = parity == 1 && offset & (1 << 20) != 0;
    let mut out = Vec::new();
    for column in parity..used {
        let column = if swapped && column == 1 { 0 } else { column };
        let height = rows + u64::from(is_higher(column, swapped, full));
        for row in 0..height {
            let address = (first + row * columns + column) * unit;
            let place = array.map.locate(Bytes::new(address)).expect("a place");
            let mut sector = vec![0; usize::try_from(unit).expect("small")];
            let file = File::open(files[place.target]).expect("opens");
            file.read_exact_at(&mut sector, place.offset.get())
                .expect("readable");
            out.extend(sector);
        }
    }
    out
}

/// True when a column has one more row than the others. The first two change places as a whole.
fn is_higher(column: u64, swapped: bool, full: u64) -> bool {
    let column = match (swapped, column) {
        (true, 0) => 1,
        (_, column) => column,
    };
    column < full
}

fn devices(folder: &Path, name: &str, count: usize, patterned: bool) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for index in 0..count {
        let path = folder.join(format!("{name}-{index}"));
        let file = File::create(&path).expect("a file");
        file.set_len(64 << 20).expect("room");
        if patterned {
            let mut bytes = Vec::with_capacity(4 << 20);
            for sector in 0..(4_u64 << 20) / 512 {
                let mark = (index as u64) << 32 | sector;
                bytes.extend(mark.to_le_bytes().repeat(64));
            }
            file.write_all_at(&bytes, DATA_START).expect("room");
        }
        out.push(path);
    }
    out
}

/// Options, vdevs (`%` is a file), how many files.
const POOLS: &[(&str, &str, &str, usize)] = &[
    ("single9", "-o ashift=9", "%", 1),
    ("single12", "-o ashift=12", "%", 1),
    ("single13", "-o ashift=13", "%", 1),
    ("mirror9", "-o ashift=9", "mirror % %", 2),
    ("mirror12", "-o ashift=12", "mirror % % %", 3),
    ("raidz1", "-o ashift=9", "raidz1 % % %", 3),
    ("raidz1four", "-o ashift=12", "raidz1 % % % %", 4),
    ("raidz2", "-o ashift=12", "raidz2 % % % % %", 5),
    ("raidz3", "-o ashift=9", "raidz3 % % % % % % %", 7),
    ("mirrors", "-o ashift=12", "mirror % % mirror % %", 4),
    ("raidzs", "-o ashift=9", "raidz1 % % % raidz1 % % %", 6),
    ("singles", "-o ashift=9", "% %", 2),
    ("log", "-o ashift=12", "mirror % % log %", 3),
    ("logs", "-o ashift=9", "raidz1 % % % log mirror % %", 5),
    ("version1", "-o version=1", "mirror % %", 2),
    ("version10", "-o version=10", "raidz2 % % % %", 4),
    ("version15", "-o version=15", "% mirror % %", 3),
];

fn create(name: &str, options: &str, vdevs: &str, files: &[PathBuf]) {
    let mut words: Vec<&str> = "zpool create -f -O mountpoint=none -o cachefile=none"
        .split(' ')
        .collect();
    words.extend(options.split_whitespace());
    words.push(name);
    let mut next = files.iter();
    for word in vdevs.split_whitespace() {
        words.push(match word {
            "%" => next.next().expect("enough files").to_str().expect("text"),
            word => word,
        });
    }
    must(&words);
}

fn all(files: &[PathBuf]) -> (Vec<&PathBuf>, Vec<usize>) {
    (files.iter().collect(), (0..files.len()).collect())
}

#[test]
fn pools_are_read_as_zdb_prints_them_and_data_lie_where_the_map_says() {
    let _daemon = Daemon::start();
    let folder = tempfile::tempdir().expect("a folder");
    let pool = |name: &str| format!("straddle{}-{name}", std::process::id());
    // What takes time is waiting for the daemon's next transaction group, so several pools wait together.
    std::thread::scope(|scope| {
        for share in POOLS.chunks(3) {
            let (folder, pool) = (folder.path(), &pool);
            scope.spawn(move || {
                for (name, options, vdevs, count) in share {
                    let files = devices(folder, name, *count, false);
                    create(&pool(name), options, vdevs, &files);
                    must(&["zpool", "export", &pool(name)]);
                    let (files, given) = all(&files);
                    check(&files, &given);
                    for file in files {
                        fs::remove_file(file).expect("removed");
                    }
                }
            });
        }
        let folder = folder.path();
        scope.spawn(move || odd_pools(folder, &pool));
        scope.spawn(move || data_lie_where_the_map_says(folder));
    });
}

/// In use, destroyed, incomplete, with a spare, with a disk replaced.
fn odd_pools(folder: &Path, pool: &dyn Fn(&str) -> String) {
    // In use.
    let files = devices(folder, "active", 2, false);
    create(&pool("active"), "-o ashift=12", "mirror % %", &files);
    check(&all(&files).0, &[0, 1]);
    must(&["zpool", "export", &pool("active")]);

    // Destroyed: the labels stay, and say so.
    let files = devices(folder, "destroyed", 3, false);
    create(&pool("destroyed"), "", "raidz1 % % %", &files);
    must(&["zpool", "destroy", &pool("destroyed")]);
    let assembly = check(&all(&files).0, &[0, 1, 2]);
    let last = assembly.nodes.last().expect("a filesystem");
    let kinds: Vec<AnomalyKind> = last.layer.anomalies.iter().map(|odd| odd.kind).collect();
    assert_eq!(kinds, [AnomalyKind::Pending]);

    // One device is not given; then only one is.
    let files = devices(folder, "missing", 4, false);
    create(&pool("missing"), "-o ashift=12", "raidz1 % % % %", &files);
    must(&["zpool", "export", &pool("missing")]);
    check(&all(&files).0, &[0, 1, 3]);
    check(&all(&files).0, &[2]);

    // A spare has no pool in its labels. (A cache has to be a block device.)
    let files = devices(folder, "extras", 3, false);
    create(
        &pool("extras"),
        "-o ashift=12",
        "mirror % % spare %",
        &files,
    );
    must(&["zpool", "export", &pool("extras")]);
    check(&all(&files[..2]).0, &[0, 1]);
    let target = Target::open(&files[2]).expect("opens");
    let reader = Reader::new(&target);
    let window = Window::whole(&reader, None);
    let found = format().run(&window).expect("readable").expect("zfs");
    assert_eq!(member_value(&found, Key::State), "spare");
    assert_eq!(found.set, zdb(&files[2])["guid"]);
    let name = "it";
    let assembly = (format().assemble)(&[Part {
        window,
        name,
        serial: None,
    }])
    .expect("readable");
    assert_eq!(assembly.nodes.len(), 0);

    // A disk being replaced: both are there until the pool is told otherwise.
    let files = devices(folder, "replaced", 3, false);
    create(&pool("replaced"), "-o ashift=9", "mirror % %", &files[..2]);
    let (old, new) = (
        files[1].to_str().expect("text"),
        files[2].to_str().expect("text"),
    );
    must(&["zpool", "replace", "-f", &pool("replaced"), old, new]);
    std::thread::sleep(Duration::from_secs(2));
    must(&["zpool", "export", &pool("replaced")]);
    let label = zdb(&files[0]);
    if label.get("vdev_tree/children[1]/type").map(String::as_str) == Some("file") {
        check(&all(&files).0, &[0, 2]);
    }
}

fn data_lie_where_the_map_says(folder: &Path) {
    for (name, vdevs, count, parity, shift) in [
        ("z1", "raidz1 % % %", 3, 1, 9),
        ("z1b", "raidz1 % % % % %", 5, 1, 12),
        ("z2", "raidz2 % % % %", 4, 2, 12),
        ("z3", "raidz3 % % % % % %", 6, 3, 9),
    ] {
        let pool = format!("straddle{}-at-{name}", std::process::id());
        let files = devices(folder, name, count, true);
        create(&pool, &format!("-o ashift={shift}"), vdevs, &files);
        let assembly = check(&all(&files).0, &all(&files).1);
        let array = &assembly.nodes[0].layer;
        for (offset, sectors) in [
            (0x18_0000_u64, 1_u64),
            (0x28_1000, 2),
            (0x39_3000, 7),
            (0x28_7000, 16),
            (0x19_f000, 8),
        ] {
            let len = sectors << shift;
            let address = format!("0:{offset:x}:{len:x}:r");
            let read = must(&[
                "zdb",
                "-e",
                "-p",
                folder.to_str().expect("text"),
                "-R",
                &pool,
                &address,
            ]);
            let mapped = by_map(array, &all(&files).0, parity, offset, len);
            assert_eq!(mapped.len() as u64, len);
            assert!(read == mapped, "{name}: {address}");
        }
        must(&["zpool", "export", &pool]);
        for file in files {
            fs::remove_file(file).expect("removed");
        }
    }
}

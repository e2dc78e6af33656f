//! NTFS: made by mkntfs, filled by wimlib and ntfscp; the oracles are ntfscat for content and ntfscluster for runs.

use super::*;

const CAT: Tool = ("ntfscat", "ntfs-3g");
const CLUSTER: Tool = ("ntfscluster", "ntfs-3g");
const COPY: Tool = ("ntfscp", "ntfs-3g");

fn made(scratch: &Scratch, size: u64, args: &[&str]) -> String {
    let image = scratch.image(size);
    run(("mkntfs", "ntfs-3g"), &[args, &["-FqQ", &image]].concat());
    image
}

/// Puts a whole directory into the image.
fn filled(scratch: &Scratch, tree: &str, image: &str) {
    let wim = scratch.name(&scratch.path("wim"));
    let tool = ("wimlib-imagex", "wimtools");
    run(tool, &["capture", tree, &wim, "--compress=none"]);
    run(tool, &["apply", &wim, "1", image]);
}

/// The runs of the file's data, as ntfscluster lists them; `None` when it is in the record.
fn oracle_runs(image: &str, path: &str, cluster: u64, size: u64) -> Option<Vec<Run>> {
    let listed = text(&run(CLUSTER, &["-F", path, image]));
    let mut resident = true;
    let mut in_data = false;
    let mut runs = Vec::new();
    for line in listed.lines().map(str::trim) {
        if line.starts_with("0x") {
            in_data = line.starts_with("0x80 - non");
            resident &= !in_data;
        } else if in_data {
            let numbers: Vec<i64> = line.split_whitespace().flat_map(str::parse).collect();
            if let [first, there, clusters] = numbers[..]
                && there >= 0
            {
                let bytes = |n: i64| u64::try_from(n).expect("positive") * cluster;
                runs.push((bytes(first), bytes(there), bytes(clusters)));
            }
        }
    }
    (!resident).then(|| joined(runs, size))
}

/// The file is found, has the content that the oracle reads, and lies where the oracle says.
fn agrees(image: &str, path: &str, cluster: u64) -> FoundFile {
    let content = run(CAT, &[image, path]);
    let found = find(image, "ntfs", path).unwrap_or_else(|error| panic!("{path}: {error}"));
    check(image, &found, &content);
    let want = oracle_runs(image, path, cluster, content.len() as u64);
    assert_eq!(has(&found, AnomalyKind::Inline), want.is_none(), "{path}");
    assert_eq!(runs(&found), want.unwrap_or_default(), "{path}");
    found
}

/// Names that sort in surprising places, that are long, and that only an upper-case table gets right.
const NAMES: [&str; 12] = [
    "a",
    "Z",
    "ä",
    "Ä2",
    "ß",
    "ÿ",
    "Ωmega",
    "ωmega2",
    "файл данных.mdf",
    "データ.mdf",
    "😀 emoji",
    "x'~!@#$%^&()-_=+[]{};,.y",
];

#[test]
fn trees_of_every_cluster_size_agree() {
    for (args, cluster) in [
        (&["-c", "512"][..], 512),
        (&["-c", "1024"], 1024),
        (&["-c", "4096"], 4096),
        (&["-c", "65536"], 65_536),
        (&["-c", "2097152"], 2 << 20),
        (&["-s", "4096", "-c", "4096"], 4096),
    ] {
        let scratch = Scratch::new();
        let image = made(
            &scratch,
            if cluster > 65_536 { 1 << 30 } else { 48 << 20 },
            args,
        );
        let mut paths = Vec::new();
        for (n, len) in [0, 1, 300, 700, 1000, 4096, 4097, 70_000, 1_000_003]
            .iter()
            .enumerate()
        {
            for directory in ["", "Data/", "Data/deep/er/and/deeper/"] {
                let path = format!("{directory}file {n}.mdf");
                scratch.file(&format!("tree/{path}"), &noise(n as u64, *len));
                paths.push(path);
            }
        }
        for name in NAMES {
            let path = format!("names/{name}");
            scratch.file(&format!("tree/{path}"), name.as_bytes());
            paths.push(path);
        }
        let long = format!("Data/{}", "long name ".repeat(25));
        let long = long.trim_end().to_owned();
        scratch.file(&format!("tree/{long}"), &noise(77, 50_000));
        paths.push(long);
        let hard = scratch.path("tree/hard link");
        fs::hard_link(scratch.path("tree/Data/file 8.mdf"), hard).expect("same filesystem");
        paths.push("hard link".to_owned());
        filled(&scratch, &scratch.name(&scratch.path("tree")), &image);
        for path in &paths {
            let path = format!("/{path}");
            let found = agrees(&image, &path, cluster);
            assert_eq!(found.path, path);
            assert_eq!(
                found.anomalies.len(),
                usize::from(has(&found, AnomalyKind::Inline))
            );
        }
        // The volume's own files.
        for path in ["/$UpCase", "/$LogFile", "/$Bitmap", "/$AttrDef"] {
            agrees(&image, path, cluster);
        }
        // ntfscat undoes the fixups of these.
        for path in ["/$MFT", "/$MFTMirr"] {
            let found = find(&image, "ntfs", path).expect("there");
            let want = oracle_runs(&image, path, cluster, found.size.value.get());
            assert_eq!(Some(runs(&found)), want, "{path}");
        }
        let hard = find(&image, "ntfs", "/hard link").expect("there");
        let file = find(&image, "ntfs", r"D:\DATA\FILE 8.MDF").expect("case does not matter");
        assert_eq!(file.path, "/Data/file 8.mdf");
        assert_eq!(runs(&file), runs(&hard));
        let folded = find(&image, "ntfs", "/NAMES/ФАЙЛ ДАННЫХ.MDF").expect("in any case");
        assert_eq!(folded.path, "/names/файл данных.mdf");
    }
}

#[test]
fn every_name_of_a_directory_with_thousands_is_found() {
    let scratch = Scratch::new();
    let image = made(&scratch, 96 << 20, &["-c", "4096"]);
    let name = |n: usize| match n % 3 {
        0 => format!("{n}"),
        1 => format!("file number {n} with a name that is neither short nor long.mdf"),
        _ => format!("{n} {}", "x".repeat(200)),
    };
    let count = 6000;
    for n in 0..count {
        scratch.file(&format!("tree/many/{}", name(n)), name(n).as_bytes());
    }
    filled(&scratch, &scratch.name(&scratch.path("tree")), &image);
    let target = Target::open(Path::new(&image)).expect("it is a file");
    // For every commit a part of them, of each form.
    for n in (0..count).step_by(if is_soak() { 1 } else { 7 }) {
        let reader = Reader::new(&target);
        let window = Window::whole(&reader, None);
        let path = format!("/many/{}", name(n));
        let found = find_file(&window, "ntfs", &path).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert_eq!(found.path, path);
        check(&image, &found, name(n).as_bytes());
        assert!(
            reader.spent() < Bytes::kib(80),
            "{} for one file",
            reader.spent()
        );
        let shouted = path.to_uppercase();
        let found = find_file(&window, "ntfs", &shouted).expect("case does not matter");
        assert_eq!(found.path, path);
    }
    let error = find(&image, "ntfs", "/many/file number 60000").expect_err("not there");
    let text = error.to_string();
    assert!(
        text.starts_with("`file number 60000` is not in `/many`, which has `file number 6"),
        "{text}"
    );
}

#[test]
fn fragments_in_an_attribute_list_agree() {
    let scratch = Scratch::new();
    let image = made(&scratch, 64 << 20, &["-c", "4096"]);
    // Two files that grow in turns share the space between them; then they are written.
    let whole = 450 * 4096;
    for (seed, name) in [(1, "/a.mdf"), (2, "/b.mdf")] {
        let part = scratch.file("part", &noise(seed, 4096));
        run(COPY, &[&image, &part, name]);
    }
    for at in (4096..whole).step_by(4096) {
        for name in ["/a.mdf", "/b.mdf"] {
            run(
                ("ntfsfallocate", "ntfs-3g"),
                &["-o", &at.to_string(), "-l", "4096", &image, name],
            );
        }
    }
    for (seed, name) in [(1, "/a.mdf"), (2, "/b.mdf")] {
        let part = scratch.file("part", &noise(seed, whole - 5));
        run(COPY, &[&image, &part, name]);
        let found = agrees(&image, name, 4096);
        check(&image, &found, &noise(seed, whole - 5));
        assert!(found.segments.len() > 300, "{}", found.segments.len());
        let info = text(&run(("ntfsinfo", "ntfs-3g"), &["-F", name, &image]));
        assert!(info.contains("ATTRIBUTE_LIST"), "{info}");
    }
}

#[test]
fn holes_and_what_was_never_written_agree() {
    let scratch = Scratch::new();
    let image = made(&scratch, 64 << 20, &["-c", "4096"]);
    let small = scratch.file("small", &noise(1, 500));
    for (name, offset) in [("/sparse", "1000000"), ("/tail", "0")] {
        run(COPY, &[&image, &small, name]);
        run(
            ("ntfsfallocate", "ntfs-3g"),
            &["-o", offset, "-l", "300000", &image, name],
        );
    }
    let sparse = agrees(&image, "/sparse", 4096);
    assert!(has(&sparse, AnomalyKind::Sparse) && has(&sparse, AnomalyKind::Unwritten));
    assert_eq!(sparse.allocated.value.get(), 303_104);
    assert_eq!(sparse.size.value.get(), 1_300_000);
    let unwritten: Vec<_> = sparse
        .unwritten
        .iter()
        .map(|e| (e.start().get(), e.end().get()))
        .collect();
    assert_eq!(unwritten, [(500, 4096), (245 * 4096, 1_300_000)]);
    let tail = agrees(&image, "/tail", 4096);
    assert!(!has(&tail, AnomalyKind::Sparse) && has(&tail, AnomalyKind::Unwritten));
}

#[test]
fn what_is_no_file_is_named() {
    let scratch = Scratch::new();
    let image = made(&scratch, 16 << 20, &[]);
    scratch.file("tree/Data/db.mdf", b"x");
    scratch.file("tree/Data/db.ldf", b"x");
    let target = scratch.path("tree/link");
    std::os::unix::fs::symlink("Data/db.mdf", target).expect("writable");
    filled(&scratch, &scratch.name(&scratch.path("tree")), &image);
    for (path, want) in [
        ("/data", "`/Data` is a directory, not a file"),
        (
            "/DATA/DB.MDF/x",
            "`/Data/db.mdf` is a file, not a directory",
        ),
        (
            "/Data/db.mdx",
            "`db.mdx` is not in `/Data`, which has `db.mdf`, `db.ldf`",
        ),
        ("/nowhere/x", "`nowhere` is not in `/`, which has "),
        (
            "/link",
            "`/link` is a link to elsewhere (reparse tag 0xa000000c): give",
        ),
    ] {
        let error = find(&image, "ntfs", path).expect_err("no file").to_string();
        assert!(error.starts_with(want), "{path}: {error}");
    }
}

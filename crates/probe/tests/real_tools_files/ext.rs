//! ext2, ext3 and ext4: made and filled by mke2fs and debugfs; the oracle is debugfs, for content and for blocks.

use super::*;

const DEBUGFS: Tool = ("debugfs", "e2fsprogs");

fn made(scratch: &Scratch, size: u64, args: &str, tree: Option<&str>) -> String {
    let image = scratch.image(size);
    let mut all: Vec<&str> = args.split_whitespace().collect();
    if let Some(tree) = tree {
        all.extend(["-d", tree]);
    }
    all.extend(["-q", "-F", &image]);
    run(("mke2fs", "e2fsprogs"), &all);
    image
}

fn ask(image: &str, request: &str) -> Vec<u8> {
    run(DEBUGFS, &["-R", request, image])
}

/// Runs requests that change the image.
fn change(scratch: &Scratch, image: &str, requests: &[String]) {
    let script = scratch.file("script", requests.join("\n").as_bytes());
    run(DEBUGFS, &["-w", "-f", &script, image]);
}

/// The block size, by the oracle.
fn block_size(image: &str) -> u64 {
    let stats = text(&ask(image, "stats -h"));
    let line = stats.lines().find(|line| line.starts_with("Block size:"));
    let number = line.and_then(|line| line.split_whitespace().last());
    number.and_then(|n| n.parse().ok()).expect("a block size")
}

/// The runs, and the parts of the file that were never written, as `stat` lists them:
/// `(ETB0):1234, (0-9):8193-8202, (10-11[u]):8300-8301`.
fn oracle(image: &str, path: &str, block: u64, size: u64) -> (Vec<Run>, Vec<(u64, u64)>) {
    let stat = text(&ask(image, &format!("stat \"{path}\"")));
    let listed = stat
        .split_once("EXTENTS:\n")
        .or_else(|| stat.split_once("BLOCKS:\n"))
        .map_or("", |(_, listed)| listed);
    let range = |text: &str| -> Option<(u64, u64)> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some((first.parse().ok()?, last.parse().ok()?))
    };
    let (mut runs, mut unwritten) = (Vec::new(), Vec::new());
    for item in listed.replace('\n', ", ").split(", ") {
        let Some((here, there)) = item.trim().split_once("):") else {
            continue;
        };
        let here = here.trim_start_matches('(');
        let plain = here.trim_end_matches("[u]");
        let (Some(upper), Some(lower)) = (range(plain), range(there)) else {
            continue;
        };
        let blocks = upper.1 - upper.0 + 1;
        runs.push((upper.0 * block, lower.0 * block, blocks * block));
        if plain != here {
            unwritten.push((upper.0 * block, upper.0 * block, blocks * block));
        }
    }
    let parts = joined(unwritten, size);
    let parts = parts.iter().map(|(start, _, len)| (*start, start + len));
    (joined(runs, size), parts.collect())
}

/// The file is found, has the content that the oracle reads, and lies where the oracle says.
fn agrees(image: &str, format: &str, path: &str, block: u64) -> FoundFile {
    let mut content = ask(image, &format!("cat \"{path}\""));
    let found = find(image, format, path).unwrap_or_else(|error| panic!("{path}: {error}"));
    if has(&found, AnomalyKind::Inline) && content.len() == 60 {
        // debugfs shows the whole field, whatever the size is.
        content.truncate(usize::try_from(found.size.value.get()).expect("small"));
    }
    check(image, &found, &content);
    assert_eq!(found.path, path);
    if !has(&found, AnomalyKind::Inline) {
        let (want, unwritten) = oracle(image, path, block, content.len() as u64);
        assert_eq!(runs(&found), want, "{path}");
        let parts = found.unwritten.iter();
        let parts: Vec<_> = parts.map(|e| (e.start().get(), e.end().get())).collect();
        assert_eq!(parts, unwritten, "{path}");
    }
    found
}

/// A file with data at a few places, far apart.
fn holey(scratch: &Scratch, name: &str) {
    let path = scratch.name(&scratch.path(name));
    fs::create_dir_all(Path::new(&path).parent().expect("inside")).expect("writable");
    let file = File::create_new(path).expect("writable");
    for (n, at) in [5_000, 300_000, 3 << 20, 69 << 20, 70 << 20]
        .iter()
        .enumerate()
    {
        file.write_all_at(&noise(n as u64, 9_000), *at)
            .expect("writable");
    }
}

#[test]
fn trees_with_every_feature_agree() {
    for (format, args) in [
        ("ext2", "-t ext2 -b 1024"),
        ("ext2", "-t ext2 -b 4096"),
        ("ext2", "-t ext2 -r 0"),
        ("ext3", "-t ext3 -b 2048"),
        ("ext", "-t ext4"),
        ("ext4", "-t ext4 -b 1024 -O ^64bit"),
        ("ext4", "-t ext4 -b 1024 -O meta_bg,^resize_inode"),
        (
            "ext4",
            "-t ext4 -b 1024 -O meta_bg,^resize_inode,^flex_bg,^64bit -g 1024",
        ),
        (
            "ext4",
            "-t ext4 -b 1024 -O sparse_super2,meta_bg,^resize_inode,^flex_bg -g 2048",
        ),
        ("ext4", "-t ext4 -b 65536"),
        ("ext4", "-t ext4 -O inline_data -I 512"),
        ("ext4", "-t ext4 -O bigalloc -C 65536"),
        (
            "ext4",
            "-t ext4 -O large_dir,ea_inode,^has_journal,^metadata_csum",
        ),
    ] {
        let scratch = Scratch::new();
        let mut paths = Vec::new();
        for (n, len) in [0, 1, 59, 60, 61, 150, 4096, 4097, 70_000, 1_000_003]
            .iter()
            .enumerate()
        {
            for directory in ["/", "/data/", "/data/deep/er/and/deeper/"] {
                let path = format!("{directory}file {n}.db");
                scratch.file(&format!("tree{path}"), &noise(n as u64, *len));
                paths.push(path);
            }
        }
        for name in [
            "ä",
            "файл данных",
            "😀",
            r"back\slash",
            "C:",
            &"x".repeat(255),
        ] {
            let path = format!("/names/{name}");
            scratch.file(&format!("tree{path}"), name.as_bytes());
            paths.push(path);
        }
        holey(&scratch, "tree/holes");
        paths.push("/holes".to_owned());
        let from = scratch.path("tree/data/file 8.db");
        fs::hard_link(from, scratch.path("tree/hard link")).expect("same filesystem");
        paths.push("/hard link".to_owned());
        let tree = scratch.name(&scratch.path("tree"));
        let image = made(&scratch, 48 << 20, args, Some(&tree));
        let block = block_size(&image);
        for path in &paths {
            if path.contains('\\') {
                let found = find(&image, format, path).expect("a legal name");
                assert_eq!(&found.path, path);
                continue;
            }
            let found = agrees(&image, format, path, block);
            let from = scratch.path(&format!("tree{path}"));
            check(&image, &found, &fs::read(from).expect("it is there"));
            assert_eq!(
                has(&found, AnomalyKind::Sparse),
                path == "/holes",
                "{args} {path}"
            );
        }
    }
}

#[test]
fn fragments_on_every_level_of_a_tree_agree() {
    for args in ["-t ext4 -b 1024", "-t ext3 -b 1024"] {
        let scratch = Scratch::new();
        let image = made(&scratch, 16 << 20, args, None);
        let small = scratch.file("small", &noise(1, 1000));
        let large = scratch.file("large", &noise(2, 1_200_000));
        let mut requests = Vec::new();
        for n in 0..1600 {
            requests.push(format!("write {small} s{n}"));
        }
        for n in (0..1600).step_by(2) {
            requests.push(format!("rm s{n}"));
        }
        requests.push(format!("write {large} large"));
        change(&scratch, &image, &requests);
        let found = agrees(&image, "ext", "/large", 1024);
        check(&image, &found, &noise(2, 1_200_000));
        assert!(found.segments.len() > 500, "{}", found.segments.len());
    }
}

#[test]
fn every_name_of_a_directory_with_thousands_is_found() {
    let scratch = Scratch::new();
    let name = |n: usize| match n % 2 {
        0 => format!("{n}"),
        _ => format!("{n} {}", "x".repeat(150)),
    };
    for n in 0..2500 {
        scratch.file(&format!("tree/many/{}", name(n)), name(n).as_bytes());
    }
    let tree = scratch.name(&scratch.path("tree"));
    let image = made(&scratch, 48 << 20, "-t ext4 -b 1024 -N 6000", Some(&tree));
    for hashed in [false, true] {
        if hashed {
            // It may end with 1, which says that it changed something.
            let fsck = Command::new("/usr/sbin/e2fsck")
                .args(["-fyD", &image])
                .output();
            let fsck = fsck.expect("e2fsck is in the Debian package e2fsprogs");
            assert!(fsck.status.code() <= Some(1), "{}", text(&fsck.stdout));
            let dump = text(&ask(&image, "htree_dump /many"));
            assert!(dump.contains("Indirect levels: 1"), "{}", &dump[..900]);
        }
        let target = Target::open(Path::new(&image)).expect("it is a file");
        // For every commit a part of them.
        for n in (0..2500).step_by(if is_soak() { 1 } else { 7 }) {
            let reader = Reader::new(&target);
            let window = Window::whole(&reader, None);
            let path = format!("/many/{}", name(n));
            let found = find_file(&window, "ext4", &path).unwrap_or_else(|e| panic!("{path}: {e}"));
            check(&image, &found, name(n).as_bytes());
        }
    }
}

#[test]
fn what_was_never_written_agrees() {
    let scratch = Scratch::new();
    let image = made(&scratch, 16 << 20, "-t ext4 -b 1024", None);
    let data = scratch.file("data", &noise(3, 100_000));
    let requests = [
        format!("write {data} a"),
        "sif a size 5000000".to_owned(),
        "fallocate a 200 300".to_owned(),
        "fallocate a 4000 9000".to_owned(),
    ];
    change(&scratch, &image, &requests);
    let found = agrees(&image, "ext4", "/a", 1024);
    assert!(has(&found, AnomalyKind::Unwritten) && has(&found, AnomalyKind::Sparse));
    assert_eq!(found.unwritten.len(), 2);
    let end = found.segments.last().expect("segments").upper.end();
    assert_eq!(end.get(), 5_000_000, "cut at the file's end");
}

#[test]
fn what_is_no_file_is_named() {
    let scratch = Scratch::new();
    scratch.file("tree/data/db.mdf", b"x");
    scratch.file("tree/data/db.ldf", b"x");
    let link = |to: &str, name: &str| {
        let at = scratch.path(&format!("tree/{name}"));
        std::os::unix::fs::symlink(to, at).expect("writable");
    };
    let far = format!("/{}", "far/".repeat(40));
    link("data/db.mdf", "short");
    link(&far, "long");
    for args in ["-t ext4", "-t ext2", "-t ext4 -O inline_data"] {
        let tree = scratch.name(&scratch.path("tree"));
        let image = made(&scratch, 8 << 20, args, Some(&tree));
        let long = format!("`/long` is a link to {far}: give");
        for (path, want) in [
            ("/data", "`/data` is a directory, not a file"),
            (
                "/data/db.mdf/x",
                "`/data/db.mdf` is a file, not a directory",
            ),
            (
                "/data/db.mdx",
                "`db.mdx` is not in `/data`, which has `db.mdf`, `db.ldf`",
            ),
            ("/DATA/db.mdf", "`DATA` is not in `/`, which has `data`, "),
            ("/short", "`/short` is a link to data/db.mdf: give the path"),
            ("/long/x", long.as_str()),
        ] {
            let error = find(&image, "ext4", path).expect_err("no file").to_string();
            assert!(error.starts_with(want), "{args} {path}: {error}");
        }
        fs::remove_file(&image).expect("it is there");
    }
}

//! XFS: made and filled by mkfs.xfs from a prototype; the oracle for runs is xfs_db.

use super::*;

const XFS_DB: Tool = ("xfs_db", "xfsprogs");

/// A prototype with files of these paths (sorted by directory, at most one level deep) and sources.
struct Prototype(String);

impl Prototype {
    fn new() -> Prototype {
        Prototype("/nothing\n0 0\nd--755 0 0\n".to_owned())
    }

    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn file(&mut self, name: &str, source: &str) {
        self.line(&format!("{name} ---644 0 0 {source}"));
    }

    fn directory(&mut self, name: &str) {
        self.line(&format!("{name} d--755 0 0"));
    }

    fn end(&mut self) {
        self.line("$");
    }
}

fn made(scratch: &Scratch, args: &str, prototype: Prototype) -> String {
    let image = scratch.image(320 << 20);
    let source = scratch.file("prototype", prototype.0.as_bytes());
    let mut all: Vec<&str> = args.split_whitespace().collect();
    all.extend(["-q", "-p", &source, &image]);
    run(("mkfs.xfs", "xfsprogs"), &all);
    image
}

fn number(text: &str, label: &str) -> u64 {
    let rest = text.split_once(label).map_or("", |(_, rest)| rest);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits
        .parse()
        .unwrap_or_else(|_| panic!("no {label:?} in {text}"))
}

/// `data offset 0 startblock 24 (0/24) count 1 flag 0`: the block in parentheses is group and block in it.
fn oracle(image: &str, path: &str, size: u64) -> Vec<Run> {
    let sb = text(&run(
        XFS_DB,
        &["-r", "-c", "sb 0", "-c", "p blocksize agblocks", image],
    ));
    let (block, per_group) = (number(&sb, "blocksize = "), number(&sb, "agblocks = "));
    let path = format!("path {path}");
    let listed = text(&run(XFS_DB, &["-r", "-c", &path, "-c", "bmap", image]));
    let runs = listed
        .lines()
        .filter(|line| line.starts_with("data"))
        .map(|line| {
            let group = number(line, " (");
            let within = number(line, "/");
            (
                number(line, "offset ") * block,
                (group * per_group + within) * block,
                number(line, "count ") * block,
            )
        });
    joined(runs.collect(), size)
}

#[test]
fn trees_of_every_shape_agree() {
    for args in [
        "-d agcount=4 -l size=64m",
        "-b size=1024",
        "-b size=4096 -n size=16384 -i size=2048",
        "-m crc=0",
        "-m crc=0 -b size=512 -n ftype=0",
        "-m crc=0 -i size=256 -n size=8192",
        "-m reflink=0,rmapbt=0,finobt=0 -i sparse=0",
    ] {
        let scratch = Scratch::new();
        let mut prototype = Prototype::new();
        let mut paths = Vec::new();
        for (n, len) in [0, 1, 60, 4096, 4097, 70_000, 1_000_003].iter().enumerate() {
            let source = scratch.file(&format!("source{n}"), &noise(n as u64, *len));
            prototype.file(&format!("file{n}"), &source);
            paths.push((format!("/file{n}"), n as u64, *len));
        }
        let long = "ä".repeat(120);
        let long_file = noise(70, 1 << 20).repeat(30);
        let large = scratch.file("large", &long_file);
        // In the inode, in one block, in several, and in so many that the table of hashes has levels.
        for (name, entries) in [("few", 3), ("some", 30), ("many", 300), ("most", 1200)] {
            prototype.directory(name);
            let source = scratch.file(&format!("source-{name}"), &noise(entries, 3000));
            for n in 0..entries {
                let file = format!("{n}-{}", if n % 3 == 0 { &long } else { "x" });
                prototype.file(&file, &source);
                paths.push((format!("/{name}/{file}"), entries, 3000));
            }
            prototype.end();
        }
        prototype.file("large", &large);
        prototype.end();
        let image = made(&scratch, args, prototype);
        for (n, (path, seed, len)) in paths.iter().enumerate() {
            // For every commit a part of the large directories.
            if path.starts_with("/m") && n % 7 != 0 && n % 37 != 0 && !is_soak() {
                continue;
            }
            let found = find(&image, "xfs", path).unwrap_or_else(|e| panic!("{args} {path}: {e}"));
            check(&image, &found, &noise(*seed, *len));
            assert_eq!(&found.path, path);
            // The oracle takes its time in large directories.
            if n % 37 == 0 || !path.starts_with("/m") {
                assert_eq!(runs(&found), oracle(&image, path, *len as u64), "{path}");
            }
            assert_eq!(found.anomalies, []);
        }
        let found = find(&image, "xfs", "/large").expect("there");
        check(&image, &found, &long_file);
        let len = long_file.len() as u64;
        assert_eq!(runs(&found), oracle(&image, "/large", len));
    }
}

#[test]
fn what_is_no_file_is_named() {
    let scratch = Scratch::new();
    let source = scratch.file("source", b"x");
    let far = "far/".repeat(150);
    for args in ["-i size=512", "-m crc=0"] {
        let mut prototype = Prototype::new();
        prototype.directory("data");
        prototype.file("db.mdf", &source);
        prototype.file("db.ldf", &source);
        prototype.end();
        prototype.line("short l--777 0 0 data/db.mdf");
        prototype.line(&format!("long l--777 0 0 {far}"));
        prototype.line("pipe p--644 0 0");
        prototype.end();
        let image = made(&scratch, args, prototype);
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
            ("/short", "`/short` is a link to data/db.mdf: give the path"),
            ("/long/x", long.as_str()),
            ("/pipe", "`/pipe` is a named pipe, not a file"),
        ] {
            let error = find(&image, "xfs", path).expect_err("no file").to_string();
            assert!(error.starts_with(want), "{args} {path}: {error}");
        }
        fs::remove_file(&image).expect("it is there");
    }
}

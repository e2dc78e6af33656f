//! Database files made by the real servers, which are told the page size that must be found.
//!
//! Needs mariadb-server-core and wiredtiger from Debian. The server only reads statements from its input, opens no port and ends
//! with them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use straddle_geometry::Bytes;
use straddle_io::{Reader, Target};
use straddle_probe::{Limits, inspect};
use straddle_stack::{GridRole, Key, Layer, LayerKind, Stack, Value};

/// What the inspection says of a file: one layer of database pages, and nothing odd.
fn pages(path: &Path) -> Layer {
    let target = Target::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::File, "file"));
    let reader = Reader::new(&target);
    inspect(&mut stack, base, &reader, None, Limits::default());
    let mut layers = stack.layers().iter();
    let found = layers.find(|layer| layer.kind == LayerKind::DatabasePage);
    let layer = found.unwrap_or_else(|| panic!("{}: no database file", path.display()));
    for layer in stack.layers() {
        assert_eq!(layer.anomalies, [], "{}", path.display());
    }
    Layer::clone(layer)
}

/// Format and page size of a file.
fn said(path: &Path) -> (String, u64) {
    let layer = pages(path);
    let grid = layer.grid(GridRole::DatabasePage).expect("a page size");
    assert_eq!(grid.value.phase(), Bytes::ZERO);
    let format = layer.format.as_ref().expect("a format").to_string();
    (format, grid.value.unit().get())
}

/// Runs the server once over `statements`, one a line.
fn mariadb(data: &Path, options: &[String], statements: &str) {
    std::fs::create_dir(data).expect("a new directory");
    let child = Command::new("mariadbd")
        .args(["--no-defaults", "--user=root", "--bootstrap"])
        .arg(format!("--datadir={}", data.display()))
        .arg("--innodb-log-file-size=4M")
        .args(options)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap_or_else(|error| {
        panic!("mariadbd: {error}; it is in the Debian package mariadb-server-core")
    });
    let mut input = child.stdin.take().expect("piped");
    input.write_all(statements.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {text}");
}

#[test]
fn tablespaces_have_the_page_size_that_mariadb_was_told() {
    let folder = tempfile::tempdir().expect("a folder");
    for (kib, checksum) in [4, 8, 16, 32, 64]
        .into_iter()
        .flat_map(|kib| [(kib, "crc32"), (kib, "full_crc32")])
    {
        let page = kib << 10;
        let mut statements = String::from("create database d;\nuse d;\n");
        let mut expected = vec![];
        let mut table = |name: String, options: &str, page: u64| {
            writeln!(
                statements,
                "create table {name} (i int primary key, v varchar(200)) engine=innodb {options};\n\
                 insert into {name} values (1, repeat('a', 200)), (2, 'b');"
            )
            .expect("a string");
            expected.push((format!("d/{name}.ibd"), page));
        };
        for format in ["redundant", "compact", "dynamic"] {
            table(format.to_owned(), &format!("row_format={format}"), page);
        }
        // Pages with holes keep their places.
        table("holes".to_owned(), "page_compressed=1", page);
        if kib <= 16 {
            for block in [1, 2, 4, 8, 16].into_iter().filter(|block| *block <= kib) {
                let options = format!("row_format=compressed key_block_size={block}");
                table(format!("compressed{block}"), &options, block << 10);
            }
        }
        let data = folder.path().join(format!("{kib}-{checksum}"));
        let options = [
            format!("--innodb-page-size={kib}k"),
            format!("--innodb-checksum-algorithm={checksum}"),
            "--innodb-undo-tablespaces=2".to_owned(),
        ];
        mariadb(&data, &options, &statements);
        for name in ["ibdata1", "undo001", "undo002"] {
            expected.push((name.to_owned(), page));
        }
        for (name, page) in expected {
            let found = said(&data.join(&name));
            assert_eq!(
                found,
                ("innodb".to_owned(), page),
                "{kib}k {checksum} {name}"
            );
        }
        let table = pages(&data.join("d/dynamic.ibd"));
        let extent = table.attribute(Key::DatabaseExtent).map(|a| &a.value);
        let expected = Value::Bytes(Bytes::kib(64 * kib.max(16)));
        assert_eq!(extent, Some(&expected), "{kib}k {checksum}");
        std::fs::remove_dir_all(&data).expect("removed");
    }
}

#[test]
fn files_of_wiredtiger_have_the_allocation_unit_that_it_was_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().to_str().expect("text");
    for unit in [512, 1024, 4096, 16_384, 65_536] {
        let name = format!("unit{unit}.wt");
        let config = format!(
            "allocation_size={unit},leaf_page_max=128KB,internal_page_max=128KB,key_format=S,value_format=S"
        );
        let words = ["-h", home, "create", "-c", &config, &format!("file:{name}")];
        let output = Command::new("wt").args(words).output();
        let output = output
            .unwrap_or_else(|error| panic!("wt: {error}; it is in the Debian package wiredtiger"));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{unit}: {text}");
        let path = folder.path().join(&name);
        // A file with something in it has the same first block.
        for filled in [false, true] {
            if filled {
                let words = ["-h", home, "write", &format!("file:{name}"), "key", "value"];
                let status = Command::new("wt").args(words).status().expect("it ran");
                assert!(status.success());
                assert!(path.metadata().expect("a file").len() > unit);
            }
            let found = said(&path);
            assert_eq!(found, ("wiredtiger".to_owned(), unit), "filled: {filled}");
        }
        let version = pages(&path).text(Key::Version).map(str::to_owned);
        assert_eq!(version.as_deref(), Some("1.0"));
    }
}

#[test]
fn blkid_calls_a_disk_of_asm_what_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk");
    let mut disk = vec![0; 4 << 20];
    disk[32..45].copy_from_slice(b"ORCLDISKDATA1");
    std::fs::write(&path, &disk).expect("room");
    let output = Command::new("blkid").arg("-p").arg(&path).output();
    let output = output.expect("blkid, of the Debian package util-linux");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("TYPE=\"oracleasm\""), "{text}");
    assert!(text.contains("LABEL=\"DATA1\""), "{text}");
    let mut formats = straddle_probe::registry::VOLUMES.iter();
    let format = formats.find(|format| format.name == "asm").expect("asm");
    let reader = Reader::new(&disk);
    let window = straddle_probe::Window::whole(&reader, None);
    let found = format.run(&window).expect("readable").expect("a disk");
    let mut said = found.detected.attributes.iter();
    let label = said.find(|said| said.key == Key::Label).expect("a label");
    assert_eq!(label.value.value, Value::Text("DATA1".into()));
}

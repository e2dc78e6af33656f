//! `collect/straddle-collect.sh`, under dash and busybox: with tools that are stubs, and with those of this machine.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use straddle::sources::{Settings, captured};
use straddle::stack::{Key, LayerKind};

const SHELLS: [&[&str]; 2] = [&["dash"], &["busybox", "sh"]];

fn script() -> PathBuf {
    let path = straddle_testkit::repository().join("collect/straddle-collect.sh");
    path.canonicalize().expect("the script")
}

fn output(command: &mut Command) -> Output {
    let name = command.get_program().to_string_lossy().into_owned();
    command
        .output()
        .unwrap_or_else(|error| panic!("{name} is needed for this test: {error}"))
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A machine of stubs, and a folder for what is collected from it.
struct Lab {
    folder: tempfile::TempDir,
}

const LSBLK: &str = r#"{
   "blockdevices": [
      {"name":"sda", "kname":"sda", "path":"/dev/sda", "type":"disk", "size":8589934592, "serial":"ZC1ABCDE", "log-sec":512, "phy-sec":4096,
         "children": [
            {"name":"sda1", "kname":"sda1", "path":"/dev/sda1", "type":"part", "size":1073709568, "start":63, "fstype":"ext4"}
         ]
      }
   ]
}"#;
const SMARTCTL: &str = "{\n  \"model_name\": \"ST4000NM0035\",\n  \"serial_number\": \"ZC1ABCDE\",\n  \"user_capacity\": {\"bytes\": 8589934592}\n}";
const MEGACLI: &str =
    "Slot Number: 0\nInquiry Data: ZC1ABCDEST4000NM0035-1V4107 TN03\nCoerced Size: 7.999 GB\n";

impl Lab {
    fn new() -> Lab {
        let lab = Lab {
            folder: tempfile::tempdir().expect("a folder"),
        };
        for folder in ["bin", "home", "work", "outside"] {
            std::fs::create_dir(lab.path(folder)).expect("a folder");
        }
        std::fs::write(lab.path("outside/file"), "as it was").expect("writable");
        lab.stub("hostname", "echo db1.example.org");
        lab.stub("date", "echo 20261122-040000");
        lab.stub(
            "lsblk",
            &format!(
                "case $* in\n'-JO -b') cat <<'X'\n{LSBLK}\nX\n;;\n-rpno*) echo /dev/sda; echo /dev/sda1 ext4; echo '/dev/sda2 xfs' ;;\n*) echo 'lsblk: unknown column' >&2; exit 1 ;;\nesac"
            ),
        );
        lab.stub("dumpe2fs", "echo 'dumpe2fs 1.47.0 (5-Feb-2023)' >&2; echo 'Filesystem volume name:   <none>'; echo 'Filesystem UUID:          80b468c8-227d-47e3-bfb2-61e7c10ebbf0'; echo 'Filesystem features:      has_journal extent'; echo 'Block count:              262136'; echo 'Block size:               4096'; echo 'RAID stride:              16'");
        lab.stub("smartctl", &format!("cat <<'X'\n{SMARTCTL}\nX"));
        lab.stub(
            "MegaCli64",
            &format!("echo log >MegaSAS.log; cat <<'X'\n{MEGACLI}X"),
        );
        lab.stub("pvs", "echo no volume groups >&2; exit 5");
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn stub(&self, name: &str, body: &str) {
        let path = self.path("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("writable");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("ours");
    }

    fn command(&self, shell: &[&str], traced: bool) -> Command {
        let mut words: Vec<&str> = Vec::new();
        let trace = self.path("trace");
        let trace = trace.to_str().expect("UTF-8");
        if traced {
            words.extend(["strace", "-f", "-qq", "-o", trace, "-e", "trace=%file"]);
        }
        words.extend(shell);
        let script = script();
        words.push(script.to_str().expect("UTF-8"));
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .current_dir(self.path("work"))
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.path("bin").display()),
            )
            .env("HOME", self.path("home"))
            .env_remove("TMPDIR");
        command
    }

    /// The one folder that was made. What it is called, the stubs do not decide under busybox, which has its own `date`
    /// and `hostname`.
    fn collected(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.path("work")).expect("a folder");
        let paths: Vec<PathBuf> = entries.map(|e| e.expect("readable").path()).collect();
        let [only] = paths.as_slice() else {
            panic!("{paths:?}");
        };
        only.clone()
    }

    /// Every file below the lab but what was collected and the trace, with what it holds.
    fn others(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("readable").path();
                if path.starts_with(self.path("work")) || path == self.path("trace") {
                    continue;
                }
                if path.is_dir() {
                    found.insert(path.clone(), Vec::new());
                    folders.push(path);
                } else {
                    let bytes = std::fs::read(&path).expect("readable");
                    found.insert(path, bytes);
                }
            }
        }
        found
    }
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).expect("it was made");
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("readable").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, std::fs::read_to_string(&path).expect("text"))
    };
    entries.map(file).collect()
}

#[test]
fn shellcheck_finds_nothing() {
    let output = output(Command::new("shellcheck").arg("--shell=sh").arg(script()));
    assert!(output.status.success(), "{}", shown(&output));
}

#[test]
fn what_is_collected_is_read_again() {
    for shell in SHELLS {
        let lab = Lab::new();
        let said = output(&mut lab.command(shell, false));
        assert!(said.status.success(), "{shell:?}: {}", shown(&said));
        let said = shown(&said);
        let listed = said.find("  lsblk -JO -b\n").expect("the list of commands");
        let collected = lab.collected();
        let name = collected.file_name().expect("a name").to_string_lossy();
        let host = name.split('-').nth(1).expect("a host");
        let place = said.find(&format!("{name}\n")).expect("the folder");
        let done = said.find("not installed").expect("the end");
        assert!(listed < place && place < done, "{said}");
        assert!(
            said.trim_end()
                .ends_with(&format!("straddle check ./{name}")),
            "{said}"
        );

        let files = files(&lab.collected());
        for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".txt")) {
            let mut lines = text.lines();
            let heading = format!("### host: {host}");
            assert_eq!(lines.next(), Some(heading.as_str()), "{name}");
            let command = lines
                .next()
                .and_then(|line| line.strip_prefix("### command: "));
            let command = command.expect(name);
            assert!(
                said.contains(&format!("  {command}\n")),
                "{command} was not listed"
            );
        }
        assert!(files["pvs.txt"].ends_with("# no volume groups\n# exit status: 5\n"));
        assert!(files["zdb.txt"].ends_with("# not installed: zdb\n"));
        // A log that a tool leaves where it runs lies with the rest.
        assert!(files.contains_key("MegaSAS.log"));

        let captures = files
            .iter()
            .zip(0..)
            .map(|((name, text), number)| captured::read(name, text.as_bytes(), false, number));
        let stack = captured::stack(captures.collect(), &Settings::default());
        let of = |kind, name: &str| {
            let mut layers = stack.layers().iter();
            layers
                .find(|layer| layer.kind == kind && layer.name == name)
                .cloned()
        };
        let disk = of(LayerKind::Device, "sda").expect("the disk");
        assert_eq!(disk.text(Key::Serial), Some("ZC1ABCDE"));
        assert!(of(LayerKind::Partition, "sda1").is_some());
        let filesystem = of(LayerKind::Filesystem, "ext4").expect("the filesystem");
        let stride = filesystem
            .bytes(Key::FsStripeUnit)
            .map(|fact| fact.value.get());
        assert_eq!(stride, Some(65_536));
    }
}

/// What system calls were made, also by the tools that the script ran: none changes a file outside `collected`.
fn nothing_written_outside(trace: &Path, collected: &Path) {
    const CALLS: [&str; 8] = [
        "mkdir", "rename", "unlink", "link", "symlink", "chmod", "truncate", "mknod",
    ];
    const FLAGS: [&str; 4] = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
    let trace = std::fs::read(trace).expect("strace wrote it");
    let collected = collected.to_string_lossy();
    for line in String::from_utf8_lossy(&trace).lines() {
        let call = line.split_whitespace().nth(1).unwrap_or("");
        let changes = (call.starts_with("open") && FLAGS.iter().any(|flag| line.contains(flag)))
            || CALLS.iter().any(|name| call.starts_with(name));
        if !changes || line.contains(" = -1 ") {
            continue;
        }
        // Relative paths are below the folder, which is where everything runs.
        let path = line.split('"').nth(1).unwrap_or("");
        let inside = path.starts_with(&*collected) || !path.starts_with('/');
        assert!(inside || matches!(path, "/dev/null" | "/dev/tty"), "{line}");
    }
}

#[test]
fn nothing_is_written_elsewhere() {
    for shell in SHELLS {
        let lab = Lab::new();
        let before = lab.others();
        let said = output(&mut lab.command(shell, true));
        assert!(said.status.success(), "{shell:?}: {}", shown(&said));
        assert!(
            lab.others() == before,
            "a file beside the folder is another"
        );
        nothing_written_outside(&lab.path("trace"), &lab.collected());
    }
}

#[test]
fn serial_numbers_become_hashes_that_are_the_same_everywhere() {
    for shell in SHELLS {
        let lab = Lab::new();
        let said = output(lab.command(shell, false).arg("--no-serials"));
        assert!(said.status.success(), "{shell:?}: {}", shown(&said));
        let files = files(&lab.collected());
        assert!(
            files.keys().all(|name| !name.starts_with('.')),
            "{:?}",
            files.keys()
        );
        for (name, text) in &files {
            assert!(!text.contains("ZC1ABCDE"), "{name}: {text}");
        }
        let hash = |name: &str| {
            let text = &files[name];
            let at = text.find("sn-").expect(name);
            let end = text[at + 3..].find(|c: char| !c.is_ascii_alphanumeric());
            text[at..at + 3 + end.expect(name)].to_owned()
        };
        // What a controller writes behind the number makes no other number of it.
        assert_eq!(hash("lsblk-json.txt"), hash("megacli-disks.txt"));
        assert!(files["lsblk-json.txt"].contains("\"size\":8589934592"));
    }
}

#[test]
fn a_folder_that_is_there_is_left_alone() {
    for shell in SHELLS {
        let lab = Lab::new();
        let listed = output(lab.command(shell, false).arg("--list"));
        assert!(listed.status.success());
        let listed = shown(&listed);
        assert!(listed.contains("  MegaCli64 -LdPdInfo -aAll -NoLog\n"));
        assert!(
            std::fs::read_dir(lab.path("work"))
                .expect("a folder")
                .next()
                .is_none()
        );
        let name = listed
            .lines()
            .find_map(|line| line.strip_prefix("  ./straddle-"));
        let (host, _) = name.and_then(|name| name.split_once('-')).expect("a name");
        // Whatever the time will be when it runs.
        let now = std::time::SystemTime::now();
        let now = now
            .duration_since(std::time::UNIX_EPOCH)
            .expect("after 1970")
            .as_secs();
        let stub = ["20261122-040000".to_owned()].into_iter();
        let names = stub.chain((now..now + 30).map(|second| {
            let mut date = Command::new("date");
            let said = output(date.arg(format!("-d@{second}")).arg("+%Y%m%d-%H%M%S"));
            shown(&said).trim().to_owned()
        }));
        for time in names {
            let folder = lab.path("work").join(format!("straddle-{host}-{time}"));
            std::fs::create_dir(&folder).expect("a folder");
        }
        let said = output(&mut lab.command(shell, false));
        assert_eq!(said.status.code(), Some(1), "{}", shown(&said));
        for entry in std::fs::read_dir(lab.path("work")).expect("a folder") {
            assert!(files(&entry.expect("readable").path()).is_empty());
        }
    }
}

#[test]
fn an_esxi_host_is_asked_with_its_own_tools() {
    for shell in SHELLS {
        let lab = Lab::new();
        lab.stub("esxcli", "echo \"asked: $*\"");
        let said = output(&mut lab.command(shell, false));
        assert!(said.status.success(), "{}", shown(&said));
        let files = files(&lab.collected());
        assert!(files["esxcli-extents.txt"].contains("asked: storage vmfs extent list"));
        assert!(!files.contains_key("lsblk-json.txt"));
    }
}

#[test]
fn this_machine_is_collected() {
    for shell in SHELLS {
        let folder = tempfile::tempdir().expect("a folder");
        let (trace, out) = (folder.path().join("trace"), folder.path().join("out"));
        std::fs::create_dir(&out).expect("a folder");
        let mut command = Command::new("strace");
        command
            .args(["-f", "-qq", "-e", "trace=%file", "-o"])
            .arg(&trace)
            .args(shell)
            .arg(script())
            .arg("--output")
            .arg(&out);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        let said = output(&mut command);
        assert!(said.status.success(), "{}", shown(&said));
        let mut made = std::fs::read_dir(&out).expect("a folder");
        let made = made.next().expect("one").expect("readable").path();
        assert!(files(&made)["lsblk-json.txt"].contains("\"blockdevices\""));
        nothing_written_outside(&trace, &made);
    }
}

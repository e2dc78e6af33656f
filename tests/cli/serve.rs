//! The local page: in a real browser (`tests/e2e/serve.mjs`), and as somebody would attack it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::pages::browse;
use crate::support::{in_memory, sh};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const DISKPAR: &str = "---- Drive 0 Geometry Infomation ----\nBytesPerSector = 512\nDiskSize = 1000204886016 (Bytes) = 953869 (MB)\n\n\
    ---- Drive Partition 0 Infomation ----\nStatringOffset = 32256\nPartitionLength = 999653638144\n\
    HiddenSectors = 63\nPartitionNumber = 1\nPartitionType = 7\n";

fn straddle(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_straddle"));
    command
        .current_dir(folder)
        .env("STRADDLE_HISTORY", folder.join("h.sqlite"));
    command
}

/// A history of a check and two predictions.
fn history(folder: &Path) {
    sh(
        folder,
        "truncate -s 64M legacy.img
         printf 'label: dos\nlabel-id: 0x12345678\nstart=63, size=100000, type=7\n' | sfdisk --quiet legacy.img",
    );
    for line in [
        "check legacy.img --quiet",
        "predict --profile fixed-service",
        "predict --profile fixed-service --seed 2",
    ] {
        let output = straddle(folder)
            .args(line.split(' '))
            .output()
            .expect("runs");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{line}");
    }
}

/// A server that ends with the test.
struct Server {
    child: Child,
    at: String,
    folder: tempfile::TempDir,
}

impl Server {
    fn new(words: &[&str]) -> Server {
        let folder = in_memory();
        history(folder.path());
        let mut child = straddle(folder.path())
            .args(["serve", "--token", TOKEN])
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped"))
            .read_line(&mut line)
            .expect("an address");
        let at = line.trim().trim_start_matches("http://");
        let at = at.split('/').next().expect("a host").to_owned();
        Server { child, at, folder }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.at).expect("listens")
    }

    /// What comes back for these bytes, until the other side closes.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The other side may have answered and closed before all is sent.
        let _ = stream.write_all(bytes);
        let mut out = Vec::new();
        let _ = stream.read_to_end(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: {}\r\n", self.at));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut bytes = head.into_bytes();
        bytes.extend(b"\r\n");
        bytes.extend(body);
        Answer::of(&self.raw(&bytes))
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[("Authorization", &bearer())], b"")
    }

    /// Most memory that it had, in KiB.
    fn peak(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("runs");
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .expect("is there");
        line.split_whitespace()
            .nth(1)
            .and_then(|n| n.parse().ok())
            .expect("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Method, path, headers, and the status that they come to.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], u16);

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn of(text: &str) -> Answer {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        Answer {
            status,
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }
}

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

#[test]
fn the_page_is_what_it_says_in_a_browser() {
    let folder = in_memory();
    history(folder.path());
    let asked = json!({
        "program": env!("CARGO_BIN_EXE_straddle"),
        "folder": folder.path(),
        "history": folder.path().join("h.sqlite"),
        "out": Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages"),
        "runs": 3,
        "capture": DISKPAR,
    });
    let path = folder.path().join("asked.json");
    std::fs::write(&path, asked.to_string()).expect("writable");
    browse("serve.mjs", &path);
}

#[test]
fn who_has_no_token_or_comes_from_elsewhere_is_not_let_in() {
    let server = Server::new(&[]);
    let (good, wrong) = (
        bearer(),
        "Bearer 00000000000000000000000000000000".to_owned(),
    );
    let own = format!("http://{}", server.at);
    let port = server.at.rsplit(':').next().expect("a port");
    let localhost = format!("localhost:{port}");
    let cases: [Case<'_>; 15] = [
        ("GET", "/api/runs", &[("Authorization", &good)], 200),
        ("GET", "/api/runs", &[], 401),
        ("GET", "/api/runs", &[("Authorization", &wrong)], 401),
        (
            "GET",
            "/api/runs",
            &[("Cookie", "straddle=0123456789abcdef0123456789abcdef")],
            200,
        ),
        (
            "GET",
            "/api/runs",
            &[("Cookie", "straddle=0123456789abcdef0123456789abcdee")],
            401,
        ),
        (
            "GET",
            "/api/runs?token=0123456789abcdef0123456789abcdef",
            &[],
            303,
        ),
        (
            "POST",
            "/api/check?token=0123456789abcdef0123456789abcdef",
            &[],
            401,
        ),
        (
            "GET",
            "/api/runs",
            &[("Authorization", &good), ("Host", "straddle.example.net")],
            421,
        ),
        (
            "GET",
            "/api/runs",
            &[("Authorization", &good), ("Host", "")],
            421,
        ),
        (
            "GET",
            "/api/runs",
            &[("Authorization", &good), ("Host", &localhost)],
            200,
        ),
        (
            "POST",
            "/api/check",
            &[
                ("Authorization", &good),
                ("Origin", "http://straddle.example.net"),
            ],
            403,
        ),
        (
            "POST",
            "/api/check",
            &[("Authorization", &good), ("Sec-Fetch-Site", "cross-site")],
            403,
        ),
        (
            "POST",
            "/api/check",
            &[("Authorization", &good), ("Origin", &own)],
            200,
        ),
        ("DELETE", "/api/runs/1", &[("Authorization", &good)], 405),
        ("GET", "/", &[("Authorization", "Basic YTpi")], 401),
    ];
    for (method, path, headers, status) in cases {
        let body: &[u8] = if method == "POST" {
            DISKPAR.as_bytes()
        } else {
            b""
        };
        let answer = server.ask(method, path, headers, body);
        assert_eq!(
            answer.status, status,
            "{method} {path} {headers:?}: {}",
            answer.body
        );
        assert!(!answer.body.contains(TOKEN) || status == 303, "{path}");
        for said in [
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "cache-control: no-store",
            "content-security-policy: ",
        ] {
            assert!(answer.head.contains(said), "{path}: {said}");
        }
    }
    let first = server.ask("GET", &format!("/?token={TOKEN}"), &[], b"");
    assert!(
        first.head.contains("set-cookie: straddle=")
            && first.head.contains("httponly; samesite=strict"),
        "{}",
        first.head
    );
    assert!(
        first.head.contains("location: /\r\n") || first.head.contains("location: /"),
        "{}",
        first.head
    );
}

#[test]
fn no_path_leads_out_and_nothing_malformed_does_harm() {
    let server = Server::new(&[]);
    for path in [
        "/assets/../../../../etc/passwd",
        "/assets/..%2f..%2f..%2fetc%2fpasswd",
        "/assets/%2e%2e/Cargo.toml",
        "//etc/passwd",
        "/runs/../../etc/passwd",
        "/checked/../../etc/passwd",
        "/assets/serve.css%00.txt",
        "/nowhere",
    ] {
        let answer = server.get(path);
        assert!(
            matches!(answer.status, 400 | 404),
            "{path}: {}",
            answer.status
        );
        assert!(!answer.body.contains("root:"), "{path}");
    }
    for (path, status) in [
        ("/runs/99", 404),
        ("/runs/abc", 400),
        ("/runs/99999999999999999999", 400),
        ("/api/runs/-1", 404),
        ("/compare?one=1", 400),
        ("/compare?one=1&other=2", 422),
        ("/compare?one=1&other=99", 404),
        ("/api/runs?limit=x", 400),
        ("/checked/00000000000000000000000000000000", 404),
    ] {
        assert_eq!(server.get(path).status, status, "{path}");
    }
    let long = "a".repeat(100_000);
    for bytes in [
        "GET\r\n\r\n".to_owned(),
        "\0\0\0\0\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: x\r\nX: {long}\r\n\r\n"),
        "POST /api/check HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n".to_owned(),
        "POST /api/check HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
    ] {
        let answer = server.raw(bytes.as_bytes());
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_eq!(server.get("/api/runs").status, 200, "it is there still");
}

#[test]
fn uploads_are_bounded_in_length_and_time_and_nothing_of_them_stays() {
    let server = Server::new(&[]);
    let good = bearer();
    let checked = server.ask(
        "POST",
        "/api/check?name=..%2f..%2fdiskpar.txt",
        &[("Authorization", &good)],
        DISKPAR.as_bytes(),
    );
    assert_eq!(checked.status, 200, "{}", checked.body);
    let document: Value = serde_json::from_str(&checked.body).expect("JSON");
    assert_eq!(document["targets"][0]["target"], "diskpar.txt");
    assert_eq!(document["targets"][0]["findings"][0]["code"], "STR101");
    assert_eq!(
        server
            .ask("POST", "/api/check", &[("Authorization", &good)], b"")
            .status,
        400
    );
    let letter = server.ask(
        "POST",
        "/api/check",
        &[("Authorization", &good)],
        b"Dear Sir or Madam",
    );
    assert_eq!(letter.status, 422, "{}", letter.body);
    // Said to be too long, and found to be while it comes.
    let head = format!(
        "POST /api/check HTTP/1.1\r\nHost: {}\r\nAuthorization: {good}\r\n",
        server.at
    );
    let said = server.raw(format!("{head}Content-Length: 99999999999\r\n\r\nx").as_bytes());
    assert!(said.starts_with("HTTP/1.1 413"), "{said}");
    let mut stream = server.connect();
    stream
        .write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes())
        .expect("listens");
    let piece = vec![b'x'; 1 << 20];
    let mut refused = false;
    for _ in 0..80 {
        let sent = stream
            .write_all(b"100000\r\n")
            .and_then(|()| stream.write_all(&piece))
            .and_then(|()| stream.write_all(b"\r\n"));
        if sent.is_err() {
            refused = true;
            break;
        }
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(
        refused || answer.starts_with(b"HTTP/1.1 413"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    // A head that never ends is given up.
    let mut slow = server.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ")
        .expect("listens");
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest);
    assert!(
        rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"),
        "{}",
        String::from_utf8_lossy(&rest)
    );
    assert!(server.peak() < 256 << 10, "{} KiB", server.peak());
    assert_eq!(server.get("/api/runs").status, 200);
}

/// What a server says of a file that is handed in.
fn handed_in(server: &Server, query: &str, bytes: &[u8]) -> Answer {
    let good = bearer();
    server.ask(
        "POST",
        &format!("/api/check?{query}"),
        &[("Authorization", &good)],
        bytes,
    )
}

fn codes(document: &Value, target: usize) -> Vec<&str> {
    let findings = document["targets"][target]["findings"]
        .as_array()
        .expect("findings");
    let codes = findings.iter().map(|finding| finding["code"].as_str());
    codes.map(|code| code.expect("a code")).collect()
}

#[test]
fn no_file_of_this_machine_is_opened_for_what_is_handed_in() {
    let server = Server::new(&[]);
    let folder = server.folder.path();
    // One disk names a parent that is there, with a partition at sector 63; the other one that is not there.
    let there = folder.join("legacy.img");
    let nowhere = folder.join("nothere.im");
    sh(
        folder,
        &format!(
            "qemu-img create -q -f qcow2 -u -F raw -b {} one.qcow2 64M
             qemu-img create -q -f qcow2 -u -F raw -b {} other.qcow2 64M",
            there.display(),
            nowhere.display()
        ),
    );
    let local = straddle(folder)
        .args(["check", "one.qcow2", "--json", "--history", "none"])
        .output()
        .expect("runs");
    let local: Value = serde_json::from_slice(&local.stdout).expect("JSON");
    assert!(
        codes(&local, 0).contains(&"STR101"),
        "the parent is followed when a user checks the file: {local}"
    );
    let answers = ["one.qcow2", "other.qcow2"].map(|file| {
        let bytes = std::fs::read(folder.join(file)).expect("an image");
        let answer = handed_in(&server, "name=disk.qcow2", &bytes);
        let parent = if file == "one.qcow2" {
            &there
        } else {
            &nowhere
        };
        // As the document writes it.
        let parent = parent.display().to_string();
        (answer.status, answer.body.replace(&parent, "PARENT"))
    });
    assert_eq!(
        answers[0], answers[1],
        "whether a file is there is not told either"
    );
    assert!(!answers[0].1.contains("STR101"), "{}", answers[0].1);
}

#[test]
fn the_beginning_of_an_image_is_enough_for_its_tables() {
    let server = Server::new(&[]);
    let bytes = std::fs::read(server.folder.path().join("legacy.img")).expect("an image");
    let whole = handed_in(&server, "name=legacy.img", &bytes);
    let whole: Value = serde_json::from_str(&whole.body).expect("JSON");
    assert!(codes(&whole, 0).contains(&"STR101"), "{whole}");
    assert!(!codes(&whole, 0).contains(&"STR107"), "{whole}");
    let head = &bytes[..1 << 20];
    let beginning = handed_in(&server, "name=legacy.img&size=67108864", head);
    let beginning: Value = serde_json::from_str(&beginning.body).expect("JSON");
    // What was not sent is said to be unread, and all else is found.
    let mut found = codes(&beginning, 0);
    found.retain(|code| *code != "STR903");
    assert_eq!(found, codes(&whole, 0));
    assert!(codes(&beginning, 0).contains(&"STR903"), "{beginning}");
    assert!(
        beginning
            .to_string()
            .contains("only the first 1 MiB were handed in"),
        "{beginning}"
    );
    // Without its size the partition ends behind what was sent.
    let cut = handed_in(&server, "name=legacy.img", head);
    let cut: Value = serde_json::from_str(&cut.body).expect("JSON");
    assert!(codes(&cut, 0).contains(&"STR107"), "{cut}");
    // A size that is too small is not believed; nonsense is refused.
    let small = handed_in(&server, "name=legacy.img&size=1", head);
    let small: Value = serde_json::from_str(&small.body).expect("JSON");
    assert_eq!(codes(&small, 0), codes(&cut, 0));
    assert_eq!(handed_in(&server, "size=-1", head).status, 400);
    let vast = format!("name=legacy.img&size={}", u64::MAX);
    let vast = handed_in(&server, &vast, head);
    assert!(matches!(vast.status, 200 | 422), "{}", vast.body);
}

#[test]
fn a_file_of_several_machines_has_a_report_for_each() {
    let server = Server::new(&[]);
    let text: String = ["db1", "db2"]
        .map(|host| format!("### host: {host}\n### command: diskpar -i 0\n{DISKPAR}"))
        .concat();
    let folder = server.folder.path();
    std::fs::write(folder.join("fleet.txt"), &text).expect("writable");
    let local = straddle(folder)
        .args(["check", "fleet.txt", "--json", "--history", "none"])
        .output()
        .expect("runs");
    let local: Value = serde_json::from_slice(&local.stdout).expect("JSON");
    let answer = handed_in(&server, "name=fleet.txt", text.as_bytes());
    let document: Value = serde_json::from_str(&answer.body).expect("JSON");
    let targets = |document: &Value| -> Vec<(String, Vec<String>)> {
        let targets = document["targets"].as_array().expect("targets");
        let each = targets.iter().enumerate().map(|(n, target)| {
            let name = target["target"].as_str().expect("a name").to_owned();
            let codes = codes(document, n).into_iter().map(str::to_owned).collect();
            (name, codes)
        });
        each.collect()
    };
    assert_eq!(targets(&document), targets(&local));
    assert_eq!(targets(&document).len(), 2, "{}", answer.body);
}

#[test]
fn what_is_not_known_is_said_to_be_so() {
    let server = Server::new(&[]);
    let noise: Vec<u8> = (0_u32..4096)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8 | 0x80)
        .collect();
    for (bytes, said) in [
        (b"Dear Sir or Madam".to_vec(), "letter"),
        (noise, "letter"),
        (vec![0; 1 << 20], "letter"),
    ] {
        let answer = handed_in(&server, "name=letter", &bytes);
        assert_eq!(answer.status, 422, "{}", answer.body);
        assert!(answer.body.contains(said), "{}", answer.body);
    }
}

#[test]
fn two_hundred_clients_at_once_are_all_answered() {
    let server = Server::new(&[]);
    let whole = server.get("/api/runs").body;
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..200)
            .map(|n| {
                let server = &server;
                scope.spawn(move || {
                    let path = ["/", "/api/runs", "/runs/1", "/live"][n % 4];
                    (path, server.get(path))
                })
            })
            .collect();
        for client in clients {
            let (path, answer) = client.join().expect("a client");
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            if path == "/api/runs" {
                assert_eq!(answer.body, whole);
            }
        }
    });
    assert!(server.peak() < 256 << 10, "{} KiB", server.peak());
}

#[test]
fn the_description_has_every_path_of_the_api_and_no_other() {
    let server = Server::new(&[]);
    let text = server.get("/api/openapi.json").body;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), 6);
    for (path, methods) in paths {
        for method in methods.as_object().expect("methods").keys() {
            let path = path.replace("{run}", "2")
                + if path == "/api/compare" {
                    "?one=2&other=3"
                } else {
                    ""
                };
            let answer = server.ask(
                &method.to_uppercase(),
                &path,
                &[("Authorization", &bearer())],
                DISKPAR.as_bytes(),
            );
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            serde_json::from_str::<Value>(&answer.body).expect("JSON");
        }
    }
}

#[test]
fn other_machines_are_let_in_only_when_somebody_says_so() {
    let folder = in_memory();
    let run = |words: &[&str]| {
        let output = straddle(folder.path())
            .arg("serve")
            .args(words)
            .output()
            .expect("runs");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    assert_eq!(
        run(&["--bind", "0.0.0.0:0"]),
        (Some(2), "error: 0.0.0.0:0 can be reached from other machines; say --expose to let them in, or bind to 127.0.0.1\n".to_owned())
    );
    let (code, said) = run(&["--bind", "0.0.0.0:0", "--expose", "--no-token"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = run(&["--token", "short"]);
    assert_eq!(code, Some(2));
    assert!(
        said.contains("expected at least 16 letters and digits"),
        "{said}"
    );
}

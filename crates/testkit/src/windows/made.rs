//! Answers that a C compiler laid out, and what was said of each field. The head of `answers.c` says how.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use uuid::Uuid;

/// Compilers, and the Debian packages that have them. The first is the one for 64 bits.
const COMPILERS: [(&str, &str); 2] = [
    ("x86_64-w64-mingw32", "gcc-mingw-w64-x86-64"),
    ("i686-w64-mingw32", "gcc-mingw-w64-i686"),
];

/// An answer, and what the C program says that it put into it.
#[derive(Debug)]
pub struct Made {
    /// The answer.
    pub bytes: Vec<u8>,
    /// What was put into each field, by its name and its place in an array: the number, and the bytes.
    pub fields: BTreeMap<(String, u64), (u64, Vec<u8>)>,
}

/// The answer of that name, as a program of 64 bits gets it.
pub fn made(name: &str) -> &'static Made {
    let all = answers(0);
    all.get(name)
        .unwrap_or_else(|| panic!("answers.h has no {name}"))
}

/// The same as a program of 32 bits gets it.
pub fn made_32(name: &str) -> &'static Made {
    let all = answers(1);
    all.get(name)
        .unwrap_or_else(|| panic!("answers.h has no {name}"))
}

/// All answers of a compiler.
pub fn answers(compiler: usize) -> &'static BTreeMap<String, Made> {
    static ALL: [OnceLock<BTreeMap<String, Made>>; 2] = [OnceLock::new(), OnceLock::new()];
    ALL[compiler].get_or_init(|| {
        let (prefix, package) = COMPILERS[compiler];
        compiled(prefix, package)
    })
}

impl Made {
    fn field(&self, field: &str, n: u64) -> &(u64, Vec<u8>) {
        let found = self.fields.get(&(field.to_owned(), n));
        found
            .unwrap_or_else(|| panic!("{field} {n} was not filled; were: {:?}", self.fields.keys()))
    }

    /// The number in a field.
    pub fn number(&self, field: &str) -> u64 {
        self.nth(field, 0)
    }

    /// The number in a field of an array's element.
    pub fn nth(&self, field: &str, n: u64) -> u64 {
        self.field(field, n).0
    }

    /// The same, where 32 bits do.
    pub fn small(&self, field: &str) -> u32 {
        u32::try_from(self.number(field)).expect("32 bits")
    }

    /// The text in a field, up to its first zero.
    pub fn text(&self, field: &str, n: u64) -> String {
        let text = &self.field(field, n).1;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8(text.to_vec()).expect("UTF-8")
    }

    /// The texts in a field, each with a zero after it.
    pub fn texts(&self, field: &str) -> Vec<String> {
        let texts = self.field(field, 0).1.split(|byte| *byte == 0);
        let texts = texts.take_while(|text| !text.is_empty());
        texts
            .map(|text| String::from_utf8(text.to_vec()).expect("UTF-8"))
            .collect()
    }

    /// The identifier in a field, which is written as C writes it.
    pub fn id(&self, field: &str, n: u64) -> Uuid {
        let text = self.text(field, n);
        let numbers: Vec<u32> = text
            .split([',', '{', '}', ' '])
            .filter(|word| !word.is_empty())
            .map(|word| match word.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16).expect("hexadecimal"),
                None => word.parse().expect("decimal"),
            })
            .collect();
        let [first, second, third, rest @ ..] = numbers.as_slice() else {
            panic!("{text} is not an identifier");
        };
        let short = |n: u32| u16::try_from(n).expect("16 bits");
        let rest: Vec<u8> = rest
            .iter()
            .map(|n| u8::try_from(*n).expect("8 bits"))
            .collect();
        let rest = rest.try_into().expect("eight bytes");
        Uuid::from_fields(*first, short(*second), short(*third), &rest)
    }
}

fn compiled(prefix: &str, package: &str) -> BTreeMap<String, Made> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/windows/answers.c");
    let folder = tempfile::tempdir().expect("a folder");
    let object = folder.path().join("answers.o");
    let mut compiler = Command::new(format!("{prefix}-gcc"));
    let flags = [
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-missing-field-initializers",
        "-c",
    ];
    run(
        compiler.args(flags).arg(source).arg("-o").arg(&object),
        package,
    );
    let section = |name: &str| {
        let out: PathBuf = folder.path().join(name);
        let mut copy = Command::new(format!("{prefix}-objcopy"));
        let copy = copy
            .args(["-O", "binary", "-j", name])
            .arg(&object)
            .arg(&out);
        run(copy, package);
        std::fs::read(out).expect("a section")
    };
    read(&section(".answers"), &section(".fields"))
}

fn run(command: &mut Command, package: &str) -> Output {
    let program = command.get_program().to_owned();
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "{}: {error}; install the Debian package {package}",
            program.display()
        )
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", program.display());
    output
}

/// Takes the sections apart: both have records of known shape, each with a mark of eight bytes.
fn read(answers: &[u8], fields: &[u8]) -> BTreeMap<String, Made> {
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let name = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).expect("a zero");
        String::from_utf8(bytes[..end].to_vec()).expect("UTF-8")
    };
    let mut all = BTreeMap::new();
    let mut at = 0;
    while let Some(rest) = answers.get(at..).filter(|rest| rest.len() >= 64) {
        if rest.starts_with(b"ANSWER\0\0") {
            let size = usize::try_from(number(&rest[56..64])).expect("a size");
            let made = Made {
                bytes: rest[64..64 + size].to_vec(),
                fields: BTreeMap::new(),
            };
            all.insert(name(&rest[8..56]), made);
            at += 64 + size;
        } else {
            at += 1;
        }
    }
    let mut current = None;
    let mut at = 0;
    while let Some(rest) = fields.get(at..).filter(|rest| rest.len() >= 256) {
        let record = &rest[..256];
        let text = name(&record[8..96]);
        match &record[..8] {
            b"NAME\0\0\0\0" => current = Some(text),
            b"FIELD\0\0\0" => {
                let made = current
                    .as_ref()
                    .and_then(|name| all.get_mut(name))
                    .expect("an answer");
                let key = (text, number(&record[96..104]));
                let value = (number(&record[104..112]), record[112..].to_vec());
                assert!(made.fields.insert(key, value).is_none(), "a field twice");
            }
            _ => {
                at += 1;
                continue;
            }
        }
        at += 256;
    }
    all
}

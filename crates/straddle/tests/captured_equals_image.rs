//! What Linux tools print about a disk image gives the same stack as the image itself.
//!
//! Disk images in many shapes are made with the real tools, and printed with the real tools. The stack of each text, and of
//! all texts together, is compared with the stack of the image: layers with their kinds, formats, starts and sizes, grids,
//! attributes, and findings with their severities and prices. What a tool cannot know is listed in [`Tool`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use straddle::geometry::Bytes;
use straddle::io::Target;
use straddle::rules::{Context, Options, check};
use straddle::sources::{Settings, captured, image};
use straddle::stack::{GridRole, Key, Layer, LayerId, LayerKind, Stack, Trust, Value};

const MIB: u64 = 1 << 20;

/// A partition table, and who makes it.
#[derive(Clone, Debug)]
enum Table {
    None,
    /// A script for sfdisk.
    Sfdisk(String),
    /// Options of sgdisk.
    Sgdisk(Vec<String>),
    /// Commands of parted, for sectors of this size.
    Parted(u64, Vec<String>),
}

/// What makes a filesystem: the program and its options.
#[derive(Clone, Debug)]
struct Mkfs(&'static str, Vec<&'static str>);

#[derive(Clone, Debug)]
struct Case {
    name: String,
    mib: u64,
    table: Table,
    /// Filesystems by the number of their partition; 0 for the whole image.
    filesystems: Vec<(u64, Mkfs)>,
}

impl Case {
    fn sector(&self) -> u64 {
        match self.table {
            Table::Parted(sector, _) => sector,
            _ => 512,
        }
    }
}

fn ext(options: &[&'static str]) -> Mkfs {
    Mkfs("mke2fs", [&["-q", "-F"], options].concat())
}

fn xfs(options: &[&'static str]) -> Mkfs {
    // Without it, an XFS has 300 MB at least.
    Mkfs(
        "mkfs.xfs",
        [&["-q", "-f", "--unsupported"], options].concat(),
    )
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, mib, table, filesystems: Vec<(u64, Mkfs)>| {
        cases.push(Case {
            name,
            mib,
            table,
            filesystems,
        });
    };
    let ext_shapes: [&[&'static str]; 10] = [
        &["-t", "ext4", "-b", "4096"],
        &["-t", "ext4", "-b", "1024"],
        &["-t", "ext3", "-b", "2048"],
        &["-t", "ext2", "-b", "1024"],
        &["-t", "ext2", "-b", "4096", "-L", "label with blanks"],
        &[
            "-t",
            "ext4",
            "-b",
            "4096",
            "-E",
            "stride=16,stripe-width=48",
        ],
        &[
            "-t",
            "ext4",
            "-b",
            "1024",
            "-E",
            "stride=64,stripe-width=256",
        ],
        &["-t", "ext4", "-b", "4096", "-E", "stride=128"],
        &["-t", "ext4", "-O", "bigalloc", "-C", "16384"],
        &["-t", "ext4", "-O", "^has_journal", "-L", "data"],
    ];
    let xfs_shapes: [&[&'static str]; 6] = [
        &[],
        &["-d", "su=64k,sw=3"],
        &["-d", "su=128k,sw=4", "-l", "su=32k"],
        &["-b", "size=1024"],
        &["-s", "size=4096", "-L", "scratch"],
        &["-m", "crc=0", "-n", "ftype=0"],
    ];
    // An MBR with one partition, wherever it may start.
    for (n, start) in [63, 64, 127, 128, 1, 2047, 2048, 2049, 2056, 4096]
        .into_iter()
        .enumerate()
    {
        let kind = ["83", "7", "8e", "fd", "c"][n % 5];
        let script = format!("label: dos\n{start},,{kind}\n");
        let filesystem = ext(ext_shapes[n]);
        add(
            format!("mbr-{start}"),
            24,
            Table::Sfdisk(script),
            vec![(1, filesystem)],
        );
    }
    // Extended and logical partitions.
    let extended = [
        "label: dos\n63,20480,83,*\n20543,,5\n20606,10000,83\n30700,,82\n",
        "label: dos\n2048,20480,83\n22528,,f\n24576,10000,83\n36864,8192,83\n47104,,83\n",
        "label: dos\n63,10000,83\n10063,10000,82\n20063,10001,7\n30064,,5\n30127,5000,83\n35200,,83\n",
        "label: dos\n2048,4096,83\n6144,4096,83\n16384,,85\n18432,,8e\n",
        "label: dos\n2048,20480,5\n22528,,83\n2111,5000,83\n",
    ];
    for (n, script) in extended.into_iter().enumerate() {
        let filesystem = match n {
            0 => vec![
                (1, ext(ext_shapes[0])),
                (5, ext(ext_shapes[3])),
                (6, Mkfs("mkswap", vec!["-q"])),
            ],
            1 => vec![(1, ext(ext_shapes[5])), (7, ext(ext_shapes[2]))],
            2 => vec![(2, Mkfs("mkswap", vec!["-q"])), (5, ext(ext_shapes[3]))],
            3 => vec![(5, ext(ext_shapes[1]))],
            _ => vec![(2, ext(ext_shapes[0]))],
        };
        add(
            format!("extended-{n}"),
            32,
            Table::Sfdisk(script.to_owned()),
            filesystem,
        );
    }
    // Several primary partitions with different filesystems.
    for (n, gap) in [0_u64, 1, 7, 8, 63].into_iter().enumerate() {
        let (first, second) = (2048 + gap, 2048 + gap + 40_960 + gap);
        let script = format!("label: dos\n{first},40960,83\n{second},,c\n");
        add(
            format!("two-{gap}"),
            44,
            Table::Sfdisk(script),
            vec![
                (1, xfs(xfs_shapes[n])),
                (2, Mkfs("mkfs.vfat", vec!["-F", "16"])),
            ],
        );
    }
    // GPT by sfdisk.
    for (n, start) in [34_u64, 40, 63, 64, 2048, 2049, 2056, 6144, 8191]
        .into_iter()
        .enumerate()
    {
        let middle = start + 49_153;
        let script = format!(
            "label: gpt\nfirst-lba: 34\nstart={start},size=49153,type=L,name=\"first, of {n}\"\nstart={middle},type=E6D6D379-F507-44C2-A23C-238F2A3DF928\n"
        );
        let filesystem = if n % 2 == 0 {
            xfs(xfs_shapes[n % 6])
        } else {
            ext(ext_shapes[n])
        };
        add(
            format!("gpt-{start}"),
            40,
            Table::Sfdisk(script),
            vec![(1, filesystem)],
        );
    }
    // GPT by sgdisk, with numbers that leave some out.
    for (n, align) in [1, 8, 63, 128, 2048].into_iter().enumerate() {
        let options = [
            format!("--set-alignment={align}"),
            "--new=2:0:+16M".to_owned(),
            "--new=7:0:+4M".to_owned(),
            "--change-name=7:seven".to_owned(),
            "--typecode=7:ef00".to_owned(),
            "--new=9:0:0".to_owned(),
        ];
        add(
            format!("sgdisk-{align}"),
            40,
            Table::Sgdisk(options.to_vec()),
            vec![(2, ext(ext_shapes[n + 4]))],
        );
    }
    // Sectors of 4,096 bytes.
    for (n, start) in [6_u64, 16, 255, 256, 257].into_iter().enumerate() {
        let end = start + 4096;
        let commands = [
            "mklabel gpt".to_owned(),
            format!("mkpart one ext4 {start}s {}s", end - 1),
            format!("mkpart two {end}s 9000s"),
        ];
        add(
            format!("4096-gpt-{start}"),
            40,
            Table::Parted(4096, commands.to_vec()),
            vec![(1, ext(ext_shapes[[0, 5, 7, 8, 9][n]]))],
        );
    }
    for start in [1_u64, 63, 256] {
        let commands = [
            "mklabel msdos".to_owned(),
            format!("mkpart primary ext4 {start}s {}s", start + 4095),
        ];
        add(
            format!("4096-mbr-{start}"),
            24,
            Table::Parted(4096, commands.to_vec()),
            vec![(1, ext(ext_shapes[0]))],
        );
    }
    // MBR and GPT by parted, in sectors of 512 bytes.
    for (n, label) in ["msdos", "gpt", "msdos", "gpt"].into_iter().enumerate() {
        let start = [63, 2048, 2050, 35][n];
        let commands = [
            format!("mklabel {label}"),
            format!("mkpart primary {start}s 40000s"),
            "mkpart primary linux-swap 40960s 49151s".to_owned(),
        ];
        add(
            format!("parted-{label}-{start}"),
            28,
            Table::Parted(512, commands.to_vec()),
            vec![(1, ext(ext_shapes[n + 4])), (2, Mkfs("mkswap", vec!["-q"]))],
        );
    }
    // Filesystems on whole disks.
    for (n, shape) in ext_shapes.into_iter().enumerate() {
        add(
            format!("whole-ext-{n}"),
            16,
            Table::None,
            vec![(0, ext(shape))],
        );
    }
    for (n, shape) in xfs_shapes.into_iter().enumerate() {
        add(
            format!("whole-xfs-{n}"),
            24,
            Table::None,
            vec![(0, xfs(shape))],
        );
    }
    // Tables with nothing in their partitions.
    add(
        "empty-partitions".to_owned(),
        8,
        Table::Sfdisk("label: dos\n63,1000,83\n1063,1000,7\n2063,1000,a5\n3063,1000,83\n".into()),
        Vec::new(),
    );
    cases
}

/// A tool that prints a partition table, and what it cannot print.
struct Tool {
    name: &'static str,
    command: &'static [&'static str],
    /// Sizes of sectors that it can be told.
    sectors: &'static [u64],
    /// True when the table of a disk with an MBR is printed as it is.
    mbr: bool,
    /// Starts and sizes are rounded: findings that need them cannot be the same.
    rounded: bool,
    /// It tells filesystems by name. None tells their geometry.
    filesystems: bool,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "sfdisk",
        command: &["-J"],
        // This version has no option for larger ones.
        sectors: &[512],
        mbr: true,
        rounded: false,
        filesystems: false,
    },
    Tool {
        name: "sfdisk",
        command: &["-d"],
        sectors: &[512],
        mbr: true,
        rounded: false,
        filesystems: false,
    },
    Tool {
        name: "fdisk",
        command: &["-l"],
        // With `-b`.
        sectors: &[512, 4096],
        mbr: true,
        rounded: false,
        filesystems: false,
    },
    Tool {
        name: "sgdisk",
        command: &["-p"],
        sectors: &[512],
        // It prints the GPT that it would make of an MBR, without the extended partition.
        mbr: false,
        rounded: false,
        filesystems: false,
    },
    Tool {
        name: "parted",
        command: &["-sm", "IMAGE", "unit", "B", "print"],
        // By an environment variable.
        sectors: &[512, 4096],
        mbr: true,
        rounded: false,
        filesystems: true,
    },
    Tool {
        name: "parted",
        command: &["-sj", "IMAGE", "unit", "s", "print"],
        sectors: &[512, 4096],
        mbr: true,
        rounded: false,
        filesystems: true,
    },
    Tool {
        name: "parted",
        command: &["-s", "IMAGE", "unit", "s", "print"],
        sectors: &[512, 4096],
        mbr: true,
        rounded: false,
        filesystems: true,
    },
    Tool {
        name: "parted",
        command: &["-sm", "IMAGE", "print"],
        sectors: &[512, 4096],
        mbr: true,
        rounded: true,
        filesystems: true,
    },
];

/// Runs a program that must be there; its output.
fn run(program: &str, arguments: &[String], sector: u64, input: Option<&str>) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut child = Command::new(program)
        .args(arguments)
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .env("LC_ALL", "C.UTF-8")
        .env("PARTED_SECTOR_SIZE", sector.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program} is needed for this test: {error}"));
    if let Some(mut stdin) = child.stdin.take() {
        // A program that fails at once leaves its input unread.
        let _ = stdin.write_all(input.unwrap_or("").as_bytes());
    }
    let output = child.wait_with_output().expect("it ran");
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

/// Number, start and length of the partitions of an image, as parted says.
fn places(image: &Path, sector: u64) -> BTreeMap<u64, (u64, u64)> {
    let arguments = ["-sm", &text(image), "unit", "B", "print"].map(str::to_owned);
    let output = run("parted", &arguments, sector, None);
    let row = |line: &str| {
        let mut fields = line.trim_end_matches(';').split(':');
        let number = fields.next()?.parse().ok()?;
        let mut bytes = || fields.next()?.strip_suffix('B')?.parse::<u64>().ok();
        let (start, end) = (bytes()?, bytes()?);
        Some((number, (start, end + 1 - start)))
    };
    output.lines().skip(2).filter_map(row).collect()
}

/// Makes the image of a case; the paths of the filesystems in it, each in a file of its own.
fn make(case: &Case, folder: &Path) -> (PathBuf, Vec<(u64, &'static str, PathBuf)>) {
    let image = folder.join(format!("{}.img", case.name));
    let file = std::fs::File::create(&image).expect("a file");
    file.set_len(case.mib * MIB).expect("room");
    let path = text(&image);
    match &case.table {
        Table::None => {}
        Table::Sfdisk(script) => {
            run("sfdisk", &["-q".to_owned(), path], 512, Some(script));
        }
        Table::Sgdisk(options) => {
            run("sgdisk", &[options.clone(), vec![path]].concat(), 512, None);
        }
        Table::Parted(sector, commands) => {
            let words = commands
                .iter()
                .flat_map(|c| c.split(' ').map(str::to_owned));
            let arguments = ["-s".to_owned(), "-a".to_owned(), "none".to_owned(), path];
            let arguments: Vec<String> = arguments.into_iter().chain(words).collect();
            run("parted", &arguments, *sector, None);
        }
    }
    let mut made = Vec::new();
    let places = match case.table {
        Table::None => BTreeMap::from([(0, (0, case.mib * MIB))]),
        _ => places(&image, case.sector()),
    };
    for (number, Mkfs(program, options)) in &case.filesystems {
        let (start, len) = places[number];
        let part = folder.join(format!("{}.part{number}", case.name));
        let file = std::fs::File::create(&part).expect("a file");
        file.set_len(len).expect("room");
        let mut arguments: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        arguments.push(text(&part));
        run(program, &arguments, 512, None);
        let bytes = std::fs::read(&part).expect("readable");
        let mut out = std::fs::OpenOptions::new()
            .write(true)
            .open(&image)
            .expect("writable");
        std::io::Seek::seek(&mut out, std::io::SeekFrom::Start(start)).expect("inside");
        out.write_all(&bytes).expect("room");
        made.push((*number, *program, part));
    }
    (image, made)
}

/// A text as a collection script writes it.
fn headed(command: &str, output: &str) -> String {
    format!("### host: lab\n### command: {command}\n{output}")
}

fn table_text(tool: &Tool, image: &Path, case: &Case) -> Option<String> {
    let is_mbr = match &case.table {
        Table::None => true,
        Table::Sfdisk(script) => script.starts_with("label: dos"),
        Table::Sgdisk(_) => false,
        Table::Parted(_, commands) => commands[0].ends_with("msdos"),
    };
    let sector = case.sector();
    if !tool.sectors.contains(&sector) || (is_mbr && !tool.mbr) {
        return None;
    }
    // sfdisk fails where there is no table.
    if matches!(case.table, Table::None) && tool.name == "sfdisk" {
        return None;
    }
    let path = text(image);
    let mut arguments: Vec<String> = tool.command.iter().map(|&word| word.to_owned()).collect();
    match arguments.iter_mut().find(|word| *word == "IMAGE") {
        Some(place) => *place = path,
        None => arguments.push(path),
    }
    if tool.name == "fdisk" && sector != 512 {
        arguments.splice(0..0, ["-b".to_owned(), sector.to_string()]);
    }
    let output = run(tool.name, &arguments, sector, None);
    Some(headed(
        &format!("{} {}", tool.name, arguments.join(" ")),
        &output,
    ))
}

/// What describes the geometry of a filesystem. Nothing prints that of FAT or swap.
fn filesystem_text(number: u64, mkfs: &str, part: &Path, image: &Path) -> Option<String> {
    let (program, arguments) = match mkfs {
        "mke2fs" => ("dumpe2fs", vec!["-h".to_owned(), text(part)]),
        "mkfs.xfs" => (
            "xfs_db",
            vec![
                "-r".to_owned(),
                "-c".to_owned(),
                "info".to_owned(),
                text(part),
            ],
        ),
        _ => return None,
    };
    let output = run(program, &arguments, 512, None);
    // A filesystem cut out of its partition stands for the partition's device.
    let node = match number {
        0 => text(image),
        number => format!("{}{number}", text(image)),
    };
    let output = output.replace(&text(part), &node);
    let command = if program == "dumpe2fs" {
        format!("dumpe2fs -h {node}")
    } else {
        format!("xfs_info {node}")
    };
    Some(headed(&command, &output))
}

fn settings() -> Settings {
    Settings {
        io: Options::default().io,
        ..Settings::default()
    }
}

fn stack_of(texts: &[&str]) -> Stack {
    let captures = texts.iter().zip(0..).map(|(text, number)| {
        let capture = captured::read(&format!("{number}.txt"), text.as_bytes(), false, number);
        assert!(!capture.tools.is_empty(), "not recognised: {text}");
        capture
    });
    captured::stack(captures.collect(), &settings())
}

/// What a layer is called in both stacks: images call partitions by their numbers, tools by their nodes.
type LayerKey = (&'static str, u64);

fn key(stack: &Stack, id: LayerId) -> LayerKey {
    let layer = stack.layer(id);
    match layer.kind {
        LayerKind::Device => ("disk", 0),
        LayerKind::Partition => match layer.attribute(Key::PartitionNumber).map(|f| &f.value) {
            Some(Value::Count(number)) => ("partition", *number),
            _ => ("partition", u64::MAX),
        },
        LayerKind::Filesystem => {
            let below = stack.only_below(id).map(|below| key(stack, below));
            ("filesystem", below.map_or(u64::MAX, |(_, number)| number))
        }
        other => (other.name(), u64::MAX),
    }
}

fn keyed(stack: &Stack) -> BTreeMap<LayerKey, LayerId> {
    let found: BTreeMap<LayerKey, LayerId> =
        stack.iter().map(|(id, _)| (key(stack, id), id)).collect();
    assert_eq!(
        found.len(),
        stack.layers().len(),
        "two layers are one thing"
    );
    found
}

/// Findings about captured text itself, which no image can have: STR906 says what was not captured.
const ABOUT_TEXT: [&str; 1] = ["STR906"];

/// Code, severity, worst price and layer of every finding that `wanted` wants.
fn findings(stack: &Stack, wanted: &dyn Fn(LayerKey) -> bool) -> Vec<String> {
    let options = Options::default();
    let mut found: Vec<String> = check(&Context::new(stack, &options))
        .iter()
        .filter(|finding| !ABOUT_TEXT.contains(&finding.code.to_string().as_str()))
        .filter(|finding| wanted(key(stack, finding.layer)))
        .map(|finding| {
            format!(
                "{} {} {:?} on {:?}",
                finding.code,
                finding.severity.name(),
                finding.worst_price(),
                key(stack, finding.layer)
            )
        })
        .collect();
    found.sort();
    found
}

/// Attributes that only one side has or that mean something else there.
///
/// - `TableSectorSize`: an image knows it by where the header stands; tools print the logical sector, which is compared.
/// - `Platform`, `StartShown`, `SizeShown`: only of captured text.
const NOT_COMPARED: [Key; 4] = [
    Key::TableSectorSize,
    Key::Platform,
    Key::StartShown,
    Key::SizeShown,
];

fn within(layer: &Layer, shown: Key, bytes: Bytes) -> bool {
    match layer.attribute(shown).map(|fact| &fact.value) {
        Some(Value::Between(interval)) => interval.contains(bytes),
        // Nothing is said, so nothing is wrong.
        _ => true,
    }
}

/// Holds one captured layer against that of the image.
fn compare_layer(
    image: &Layer,
    text: &Layer,
    start: Option<Bytes>,
    said: Option<Bytes>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut differs = |what: &str, a: String, b: String| {
        wrong.push(format!(
            "{}: {what} is {a} in the image and {b} in text",
            text.name
        ));
    };
    if image.kind != text.kind {
        differs("kind", image.kind.name().into(), text.kind.name().into());
    }
    // Parted calls ext4 without a journal ext2.
    let by_parted =
        text.format.as_deref() == Some("ext2") && text.attribute(Key::Version).is_none();
    if let (Some(a), Some(b)) = (&image.format, &text.format)
        && a != b
        && !by_parted
    {
        differs("format", a.to_string(), b.to_string());
    }
    let size = image.size.as_ref().map(|size| size.value);
    // How long a filesystem is by itself, only its own tool says.
    let own_size = text.kind != LayerKind::Filesystem || text.attribute(Key::ClaimedSize).is_some();
    match (size, text.size.as_ref().map(|size| size.value)) {
        (Some(a), Some(b)) if a != b && own_size => differs("size", a.to_string(), b.to_string()),
        (Some(a), None) if !within(text, Key::SizeShown, a) => {
            differs("size", a.to_string(), "another interval".into());
        }
        _ => {}
    }
    match (start, said) {
        (Some(a), Some(b)) if a != b => differs("start", a.to_string(), b.to_string()),
        (Some(a), None) if !within(text, Key::StartShown, a) => {
            differs("start", a.to_string(), "another interval".into());
        }
        _ => {}
    }
    for grid in text
        .grids
        .iter()
        .filter(|grid| grid.grid.trust < Trust::Assumed)
    {
        match image.grid(grid.role) {
            Some(have) if have.value == grid.grid.value => {}
            have => differs(
                grid.role.name(),
                format!("{:?}", have.map(|fact| fact.value)),
                format!("{:?}", grid.grid.value),
            ),
        }
    }
    for attribute in &text.attributes {
        if NOT_COMPARED.contains(&attribute.key) {
            continue;
        }
        if let Some(have) = image.attribute(attribute.key)
            && have.value != attribute.value.value
        {
            differs(
                attribute.key.name(),
                have.value.to_string(),
                attribute.value.value.to_string(),
            );
        }
    }
    wrong
}

/// Holds the stack of a text against that of the image; what differs.
fn compare(image: &Stack, text: &Stack) -> Vec<String> {
    let (ours, theirs) = (keyed(image), keyed(text));
    let mut wrong = Vec::new();
    for (name, id) in &theirs {
        let Some(own) = ours.get(name) else {
            wrong.push(format!("{name:?} is only in text"));
            continue;
        };
        let start = |stack: &Stack, id: LayerId| {
            let below = stack.only_below(id)?;
            stack.start_in(id, below)
        };
        wrong.extend(compare_layer(
            image.layer(*own),
            text.layer(*id),
            start(image, *own),
            start(text, *id),
        ));
    }
    for name in ours.keys() {
        if name.0 != "filesystem" && !theirs.contains_key(name) {
            wrong.push(format!("{name:?} is only in the image"));
        }
    }
    wrong
}

/// All that an image says of a filesystem must be in the text that describes it.
fn compare_whole_filesystem(image: &Layer, text: &Layer) -> Vec<String> {
    let mut wrong = Vec::new();
    for attribute in &image.attributes {
        if text.attribute(attribute.key).is_none() {
            // `xfs_info` does not print labels; identifiers are for telling disks apart, and the text is of the disk.
            let is_xfs = image.format.as_deref() == Some("xfs");
            if attribute.key == Key::VolumeId || attribute.key == Key::Label && is_xfs {
                continue;
            }
            wrong.push(format!(
                "{}: text has no {}",
                text.name,
                attribute.key.name()
            ));
        }
    }
    for grid in &image.grids {
        if grid.role == GridRole::AllocationUnit && text.grid(grid.role).is_none() {
            wrong.push(format!("{}: text has no {}", text.name, grid.role.name()));
        }
    }
    if image.format != text.format {
        wrong.push(format!("{}: text has no format", text.name));
    }
    wrong
}

fn difference(ours: Vec<String>, theirs: Vec<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for finding in &ours {
        if !theirs.contains(finding) {
            wrong.push(format!("only from the image: {finding}"));
        }
    }
    for finding in &theirs {
        if !ours.contains(finding) {
            wrong.push(format!("only from text: {finding}"));
        }
    }
    wrong
}

fn check_case(case: &Case, folder: &Path) -> Vec<String> {
    let (path, made) = make(case, folder);
    let target = Arc::new(Target::open(&path).expect("readable"));
    let image = image(&target, &settings()).expect("an image");
    let mut wrong = Vec::new();
    let mut report = |tool: &str, list: Vec<String>| {
        wrong.extend(
            list.into_iter()
                .map(|line| format!("{} by {tool}: {line}", case.name)),
        );
    };
    let mut texts = Vec::new();
    for tool in TOOLS {
        let Some(text) = table_text(tool, &path, case) else {
            continue;
        };
        let name = format!("{} {}", tool.name, tool.command.join(" "));
        let stack = stack_of(&[&text]);
        report(&name, compare(&image, &stack));
        if tool.filesystems {
            // Parted does not know an ext filesystem again whose blocks are smaller than sectors.
            let known = |(_, layer): &(LayerId, &Layer)| {
                let block = layer.bytes(Key::BlockSize).map(|block| block.value.get());
                let small = block.is_some_and(|block| block < case.sector());
                layer.kind == LayerKind::Filesystem && !small
            };
            let count = |stack: &Stack| stack.iter().filter(known).count();
            if count(&image) != count(&stack) {
                report(&name, vec!["not all filesystems are told".to_owned()]);
            }
        }
        if !tool.rounded {
            // No table tool prints the geometry of a filesystem.
            let wanted = |(kind, _): LayerKey| kind != "filesystem";
            report(
                &name,
                difference(findings(&image, &wanted), findings(&stack, &wanted)),
            );
        }
        texts.push(text);
    }
    let mut described = Vec::new();
    for (number, mkfs, part) in &made {
        if let Some(text) = filesystem_text(*number, mkfs, part, &path) {
            texts.push(text);
            described.push(*number);
        }
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let stack = stack_of(&texts);
    report("all", compare(&image, &stack));
    let (ours, theirs) = (keyed(&image), keyed(&stack));
    for number in &described {
        let name = ("filesystem", *number);
        match (ours.get(&name), theirs.get(&name)) {
            (Some(own), Some(id)) => report(
                "all",
                compare_whole_filesystem(image.layer(*own), stack.layer(*id)),
            ),
            _ => report("all", vec![format!("no {name:?}")]),
        }
    }
    let wanted = |(kind, number): LayerKey| kind != "filesystem" || described.contains(&number);
    report(
        "all",
        difference(findings(&image, &wanted), findings(&stack, &wanted)),
    );
    wrong
}

#[test]
fn what_tools_print_gives_the_stack_of_the_image() {
    let cases = cases();
    assert!(cases.len() >= 60, "{} images", cases.len());
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("there");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(check_case(case, &folder));
        }
        wrong
    };
    let wrong = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        results.flatten().collect::<Vec<String>>()
    });
    let mut report = String::new();
    for line in &wrong {
        let _ = writeln!(report, "{line}");
    }
    assert!(wrong.is_empty(), "{report}");
}

//! The commands as a person types them: help, exit status, formats, errors.

use crate::support::{repository, scratch, straddle, unpack_image};
use std::fs;
use std::path::Path;
use straddle::rules::{FOLKLORE, RULES};

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(repository().join("tests/cli/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn the_whole_help_is_one_snapshot() {
    let here = scratch();
    let mut text = String::new();
    for command in [
        &[][..],
        &["check"],
        &["bench"],
        &["evidence"],
        &["explain"],
        &["capture"],
        &["sqlio"],
        &["diskspd"],
        &["schema"],
        &["completions"],
        &["man"],
    ] {
        let mut args = command.to_vec();
        args.push("--help");
        let run = straddle(here.path(), &args);
        assert_eq!(run.code, Some(0));
        text.push_str(&format!("$ straddle {}\n{}\n", args.join(" "), run.stdout));
    }
    snapshot("help", &text);
}

#[test]
fn straddle_alone_prints_the_verbs_by_question() {
    let here = scratch();
    let run = straddle(here.path(), &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    let lines: Vec<&str> = run.stderr.lines().collect();
    let verbs = [
        "check", "bench", "predict", "fix", "evidence", "trace", "explain",
    ];
    for (line, verb) in lines.iter().zip(verbs) {
        assert!(
            line.contains("?  ") && line.contains(&format!("straddle {verb} ")),
            "{line}"
        );
    }
    assert!(
        lines
            .last()
            .is_some_and(|line| line.contains("straddle --help")),
        "{}",
        run.stderr
    );
}

#[test]
fn completions_and_manual_pages_are_made_from_the_same_definition() {
    let here = scratch();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = straddle(here.path(), &["completions", shell]);
        assert!(
            run.stdout.contains("stripe-unit"),
            "{shell}: {}",
            run.transcript()
        );
    }
    let page = straddle(here.path(), &["man", "check"]);
    assert!(
        page.stdout.contains(".TH") && page.stdout.contains("stripe\\-unit"),
        "{}",
        page.transcript()
    );
    assert_eq!(straddle(here.path(), &["man", "nonsense"]).code, Some(2));
}

#[test]
fn explain_knows_codes_names_and_beliefs() {
    let here = scratch();
    // Every rule and every belief has its line, in order, and there is nothing else.
    let list = straddle(here.path(), &["explain"]);
    let rules = RULES
        .iter()
        .map(|rule| format!("{}  {}", rule.code, rule.summary));
    let beliefs = FOLKLORE
        .iter()
        .map(|page| format!("{:<11}  {}", page.name, page.belief));
    let lines: Vec<String> = rules
        .chain(["".into(), "Beliefs, and what is true of them:".into()])
        .chain(beliefs)
        .collect();
    assert_eq!(list.stdout.lines().collect::<Vec<_>>(), lines);
    assert_eq!(list.code, Some(0));
    snapshot(
        "explain-STR101",
        &straddle(here.path(), &["explain", "str101"]).transcript(),
    );
    snapshot(
        "explain-tracks",
        &straddle(here.path(), &["explain", "tracks"]).transcript(),
    );
    snapshot(
        "explain-unknown",
        &straddle(here.path(), &["explain", "STR999"]).transcript(),
    );
}

#[test]
fn explain_takes_words() {
    let here = scratch();
    // A name in several words, a list of all pages with the words, one page that alone has them, and none.
    let asked: [&[&str]; 7] = [
        &["mount", "point"],
        &["stripe", "unit"],
        &["64 KiB", "slower"],
        &["thin", "pool", "chunks"],
        &["STR", "101", "202"],
        &["allignment"],
        &["xyzzy"],
    ];
    let mut text = String::new();
    for words in asked {
        let args = [&["explain"], words].concat();
        let run = straddle(here.path(), &args);
        text.push_str(&format!(
            "$ straddle {}\n{}\n",
            args.join(" "),
            run.transcript()
        ));
    }
    snapshot("explain-words", &text);

    // One argument or several, in any case and plural: the same answer.
    let once = straddle(here.path(), &["explain", "Mount Points"]);
    let twice = straddle(here.path(), &["explain", "mount", "point"]);
    assert_eq!((once.stdout, once.code), (twice.stdout, Some(0)));
    let listed = straddle(here.path(), &["explain", "alignment"]);
    assert_eq!(listed.code, Some(0));
    assert!(listed.stdout.lines().count() > 3, "{}", listed.transcript());
}

#[test]
fn many_targets_get_a_line_each_and_a_summary() {
    let here = scratch();
    for image in ["mbr-63", "mbr-2048", "mbr-64"] {
        unpack_image(image, here.path());
    }
    fs::write(here.path().join("notes.txt"), "nothing to see").expect("write");
    snapshot(
        "many-lines",
        &straddle(here.path(), &["check", "."]).transcript(),
    );
    snapshot(
        "many-csv",
        &straddle(here.path(), &["check", "--format", "csv", "."]).transcript(),
    );
    let named = straddle(here.path(), &["check", "mbr-2048.img", "missing.img"]);
    snapshot("many-failed", &named.transcript());
    assert_eq!(named.code, Some(2));
}

#[test]
fn a_line_of_csv_about_a_guests_partition_has_what_its_virtual_disk_costs() {
    let here = scratch();
    let image = unpack_image("vhd-dynamic", here.path());
    let args = ["check", "--as", "image", "--format", "csv", &image];
    let text = straddle(here.path(), &args).transcript();
    let lines: Vec<&str> = text
        .lines()
        .filter(|l| l.contains(",partition 1,"))
        .collect();
    let [line] = lines.as_slice() else {
        panic!("one line about one partition is expected: {text}");
    };
    assert!(line.contains(",error,STR401,262.50,"), "{line}");
}

#[test]
fn the_exit_status_follows_fail_on() {
    let here = scratch();
    let image = unpack_image("mbr-63", here.path());
    let code = |args: &[&str]| {
        let mut all = vec!["check", &image];
        all.extend(args);
        straddle(here.path(), &all).code
    };
    assert_eq!(code(&[]), Some(1));
    assert_eq!(code(&["--fail-on", "error"]), Some(1));
    assert_eq!(code(&["--fail-on", "never"]), Some(0));
    // On a 512-byte physical sector only the unknown stripe unit is left: a warning.
    assert_eq!(
        code(&["--physical-sector", "512", "--fail-on", "error"]),
        Some(0)
    );
    assert_eq!(code(&["--physical-sector", "512"]), Some(1));
    let quiet = straddle(here.path(), &["check", "-q", &image]);
    assert_eq!(
        (quiet.stdout.as_str(), quiet.stderr.as_str(), quiet.code),
        ("", "", Some(1))
    );
}

#[test]
fn the_json_document_obeys_its_schema() {
    let here = scratch();
    let schema = straddle(here.path(), &["schema", "check"]).stdout;
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("the schema is JSON");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler
        .add_resource("schema.json", schema)
        .expect("the schema is a schema");
    let compiled = compiler
        .compile("schema.json", &mut schemas)
        .expect("the schema compiles");
    let valid = |args: &[&str]| {
        let run = straddle(here.path(), args);
        let document: serde_json::Value =
            serde_json::from_str(&run.stdout).expect("output is one JSON document");
        if let Err(error) = schemas.validate(&document, compiled) {
            panic!("{args:?}: {error}");
        }
        document
    };
    for image in ["mbr-63", "mbr-2048", "ntfs-2048"] {
        unpack_image(image, here.path());
    }
    let one = valid(&["check", "--json", "mbr-63.img"]);
    assert_eq!(one["targets"][0]["findings"][0]["code"], "STR101");
    assert_eq!(
        one["targets"][0]["stack"][1]["placement"]["value"]["start"],
        32_256
    );
    let many = valid(&["check", "--format", "json", ".", "missing.img"]);
    assert_eq!(many["summary"]["targets"], 3);
    assert_eq!(many["failures"][0]["target"], "missing.img");
    for entry in fs::read_dir(repository().join("tests/hosts")).expect("tests/hosts exists") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|e| e == "tree") {
            let host = valid(&[
                "check",
                "--json",
                "--sysroot",
                path.to_str().expect("UTF-8"),
            ]);
            assert!(
                host["targets"][0]["stack"]
                    .as_array()
                    .is_some_and(|s| !s.is_empty()),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn flags_replace_what_cannot_be_read_and_findings_say_so() {
    let here = scratch();
    let image = unpack_image("mbr-63", here.path());
    let args = [
        "check",
        &image,
        "--stripe-unit",
        "64K",
        "--physical-sector",
        "512",
        "--io",
        "8K",
    ];
    snapshot("flags", &straddle(here.path(), &args).transcript());
    for (flag, value) in [
        ("--io", "0"),
        ("--stripe-unit", "63Q"),
        ("--logical-sector", "8G"),
    ] {
        let run = straddle(here.path(), &["check", &image, flag, value]);
        assert_eq!(run.code, Some(2), "{flag} {value}");
        assert!(run.stderr.contains(value), "{}", run.stderr);
    }
}

#[test]
fn bytes_are_placed_and_writes_too() {
    let here = scratch();
    let image = unpack_image("mbr-63", here.path());
    let mut text = String::new();
    for question in [
        &["--where", "60K"][..],
        &["--where", "60K+8K", "--of", "partition 1"],
        &["--where", "100G+8K"],
        &["--of", "md0"],
    ] {
        let mut args = vec!["check", &image, "--fail-on", "never"];
        args.extend(question);
        let run = straddle(here.path(), &args);
        assert_eq!(run.code, Some(0), "{}", run.transcript());
        let from = run.stdout.find("\nwhere byte");
        let from = from.or_else(|| run.stdout.find("\nno layer"));
        let told = &run.stdout[from.expect("an answer")..];
        let told = told.split("\n\n").filter(|part| {
            ["where", "what", "no layer"]
                .iter()
                .any(|word| part.trim_start().starts_with(word))
        });
        let told: Vec<&str> = told.collect();
        text.push_str(&format!(
            "$ straddle {}\n{}\n\n",
            args.join(" "),
            told.join("\n\n")
        ));
    }
    snapshot("where", &text);
    for wrong in ["60K+0", "8K+", "16E+16E", "+8K"] {
        let run = straddle(here.path(), &["check", &image, "--where", wrong]);
        assert_eq!(run.code, Some(2), "{wrong}");
        assert!(run.stderr.contains("--where"), "{}", run.stderr);
    }
}

/// 64 KiB, 128 KiB, 1 MiB and 2 MiB are equally good for 8 KiB requests on a 64 KiB stripe unit: the same findings.
#[test]
fn equally_good_starts_are_judged_equally() {
    let here = scratch();
    let judged: Vec<Vec<String>> = [128, 256, 2048, 4096]
        .iter()
        .map(|sector| {
            let name = format!("start-{sector}.img");
            write_mbr(&here.path().join(&name), *sector);
            let args = [
                "check",
                &name,
                "--stripe-unit",
                "64K",
                "--io",
                "8K",
                "--json",
            ];
            let document: serde_json::Value =
                serde_json::from_str(&straddle(here.path(), &args).stdout).expect("JSON");
            let findings = document["targets"][0]["findings"]
                .as_array()
                .expect("a list")
                .iter();
            findings.map(|f| f["code"].to_string()).collect()
        })
        .collect();
    assert!(
        judged.windows(2).all(|pair| pair[0] == pair[1]),
        "{judged:?}"
    );
}

/// 32 KiB on a 64 KiB stripe unit "was changed" and is still off: nothing up to 32 KiB, everything at 64 KiB.
#[test]
fn changed_but_still_off_is_said_both_ways() {
    let here = scratch();
    write_mbr(&here.path().join("half.img"), 64);
    let small = straddle(
        here.path(),
        &[
            "check",
            "half.img",
            "--stripe-unit",
            "64K",
            "--io",
            "4K,8K,32K",
        ],
    )
    .stdout;
    assert!(small.contains("note[STR201]"), "{small}");
    assert!(
        small.contains("nothing extra for requests of 4 KiB, 8 KiB, 32 KiB"),
        "{small}"
    );
    assert!(small.contains("64 KiB requests: 100% straddle"), "{small}");
    assert!(
        small.contains("32,768 ÷ 65,536 = 0.5, not an integer"),
        "{small}"
    );
    let large = straddle(
        here.path(),
        &["check", "half.img", "--stripe-unit", "64K", "--io", "64K"],
    )
    .stdout;
    assert!(large.contains("error[STR201]"), "{large}");
}

/// A disk of 64 MiB with one partition of type 07 from `sector` to its end.
fn write_mbr(path: &Path, sector: u32) {
    let mut record = [0; 512];
    record[450] = 7;
    record[454..458].copy_from_slice(&sector.to_le_bytes());
    record[458..462].copy_from_slice(&(131_072 - sector).to_le_bytes());
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    fs::write(path, record).expect("write");
    let file = fs::OpenOptions::new().write(true).open(path).expect("open");
    file.set_len(64 << 20).expect("sparse");
}

/// The lines of JSON that nobody knows are not read as text, and what a tool printed in them is found, whole and cut.
#[test]
fn json_in_an_envelope_that_nobody_knows_is_read() {
    let here = scratch();
    let whole = "{\n \"run\": \"collect\",\n \"hosts\": [\n  { \"disks\":\n\
        {\"partitiontable\": {\"label\": \"dos\", \"device\": \"/dev/sda\", \"unit\": \"sectors\", \"partitions\": [\n\
        {\"node\": \"/dev/sda1\", \"start\": 63, \"size\": 204800, \"type\": \"83\"}\n]}}\n  }\n ]\n}\n";
    let cut = whole.trim_end_matches(['\n', '}', ' ', ']']);
    for text in [whole, cut] {
        fs::write(here.path().join("run.json"), text).expect("a scratch file");
        let run = straddle(here.path(), &["check", "--as", "text", "run.json"]);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        for said in [
            "error[STR101]: sda1 starts inside",
            "--> run.json, line 6",
            "first sector = 63",
        ] {
            assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
        }
    }
}

/// A text of more machines than anybody reads reports of is told as a folder is: a line for those that are alike, and a summary.
#[test]
fn a_text_of_many_machines_gets_a_line_for_those_that_are_alike() {
    let here = scratch();
    let of = |machines: u64| {
        let table = |n| {
            format!(
                "root@db{n}:~# sfdisk -d /dev/sda\nlabel: dos\ndevice: /dev/sda\nunit: sectors\nsector-size: 512\n\n\
                 /dev/sda1 : start=63, size=204800, type=83\n"
            )
        };
        let text: String = (1..=machines).map(table).collect();
        fs::write(here.path().join("many.txt"), text).expect("a scratch file");
        let reports = |args: &[&str]| {
            let args = [&["check", "--as", "text", "many.txt"], args].concat();
            let run = straddle(here.path(), &args);
            assert_eq!(run.code, Some(1), "{}", run.stderr);
            let lines = |sign: &str| {
                run.stdout
                    .lines()
                    .filter(|line| line.starts_with(sign))
                    .count()
            };
            let summed = run.stdout.contains(&format!("{machines} hosts: "));
            (
                lines("more: straddle explain STR101"),
                lines("error      "),
                summed,
            )
        };
        (reports(&[]), reports(&["--details"]))
    };
    assert_eq!(of(32), ((32, 0, false), (32, 0, false)));
    // They are alike, and share a line.
    assert_eq!(of(33), ((0, 1, true), (33, 1, true)));
}

/// A table of hundreds of partitions that all have one fault.
#[test]
fn findings_that_repeat_are_folded() {
    let here = scratch();
    let mut text = "label: gpt\ndevice: /dev/sda\nunit: sectors\nsector-size: 512\n\n".to_owned();
    for n in 1..=303 {
        let start = 63 + (n - 1) * 2048;
        text += &format!(
            "/dev/sda{n} : start={start}, size=1024, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4\n"
        );
    }
    fs::write(here.path().join("many.txt"), text).expect("a scratch file");
    let args = ["check", "--as", "text", "many.txt"];
    let run = straddle(here.path(), &[&args[..], &["--format", "json"]].concat());
    let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let target = &document["targets"][0];
    let told = target["findings"].as_array().expect("a list");
    let of = |code: &str| {
        told.iter()
            .filter(|finding| finding["code"] == code)
            .count()
    };
    assert_eq!((of("STR101"), of("STR203"), of("STR906")), (200, 200, 1));
    assert_eq!(
        target["folded"],
        serde_json::json!([
            {"code": "STR101", "more": 103, "severity": "error",
             "worst_extra": {"numerator": 12288, "denominator": 4096, "value": 3.0}},
            {"code": "STR203", "more": 103, "severity": "warning",
             "worst_extra": {"numerator": 0, "denominator": 1, "value": 0.0}},
        ])
    );
    let run = straddle(here.path(), &args);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let of = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!((of("error[STR101]"), of("warning[STR203]")), (201, 201));
    for said in [
        "error[STR101]: 103 more like these: partition starts inside a physical sector; the worst costs +300%",
        "warning[STR203]: 103 more like these: stripe unit is unknown, and the partition would be misaligned for some or all of the common ones",
    ] {
        assert!(lines.contains(&said), "{said}");
    }
    // A table has a row for each partition, and what it says of each is all of it.
    let run = straddle(here.path(), &[&args[..], &["--format", "csv"]].concat());
    let rows = run.stdout.lines().filter(|line| line.contains("STR101"));
    assert_eq!(rows.count(), 303);
}

#[test]
fn what_a_plan_copies_of_a_pool_is_an_upper_bound() {
    let here = scratch();
    let text = "# lsblk -b -o NAME,SIZE,PHY-SEC\n\
                NAME             SIZE PHY-SEC\n\
                sda     4000787030016    4096\n\
                # zdb -C tank | grep -E 'ashift|path'\n                \
                path: '/dev/sda'\n                \
                ashift: 9\n";
    fs::write(here.path().join("pool.txt"), text).expect("a file");
    let run = straddle(here.path(), &["fix", "pool.txt"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let words: Vec<&str> = run.stdout.split_whitespace().collect();
    let plan = words.join(" ");
    for line in [
        "at most ≈14.55 TiB are read and ≈7.28 TiB written, in at most 16 h 40 min",
        "data copied away and back: at most ≈3.64 TiB; at most ≈14.55 TiB read and ≈7.28 TiB written, at most ≈3.64 TiB free elsewhere",
        "at most ≈3.64 TiB in question; at most ≈14.55 TiB read",
        "at most ≈3.64 TiB are needed elsewhere meanwhile",
    ] {
        assert!(plan.contains(line), "{line}: {plan}");
    }
    // What is moved byte by byte is no bound.
    let text = "# fdisk -l /dev/sdb\n\
                Disk /dev/sdb: 931.5 GiB, 1000204886016 bytes, 1953525168 sectors\n\
                Units: sectors of 1 * 512 = 512 bytes\n\
                Sector size (logical/physical): 512 bytes / 4096 bytes\n\
                Disklabel type: dos\n\n\
                Device     Boot Start        End   Sectors  Size Id Type\n\
                /dev/sdb1          63  976773167 976773105  466G 83 Linux\n";
    fs::write(here.path().join("fdisk.txt"), text).expect("a file");
    let run = straddle(here.path(), &["fix", "fdisk.txt"]);
    assert!(run.stdout.contains("data moved: "), "{}", run.stdout);
    assert!(!run.stdout.contains("at most"), "{}", run.stdout);
}

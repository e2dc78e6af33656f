//! Scripts of `straddle fix` for Windows and ESXi: their texts, their grammar, and what they do where their interpreter is to be
//! had: `.cmd` files in Wine, the script for ESXi in the shell of busybox, with stubs in the place of the tools.

mod batch;
mod diskpart;
mod powershell;
mod registry;
mod servers;
mod wine;

use crate::support::{Run, straddle};
use servers::Server;
use std::path::Path;
use std::process::Command;
use wine::Desk;

const WINDOWS: [&str; 4] = ["diskpar", "diskpart", "powershell", "vds"];

fn fix(folder: &Path, server: &Server, tool: &str) -> Run {
    let target = server.write(folder);
    let name = target
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let mut args = vec!["fix", &name, "--script", tool];
    if server.name == "odd-width" {
        args.extend(["--stripe-unit", "64K", "--stripe-width", "320K"]);
    }
    straddle(folder, &args)
}

fn script(server: &Server, tool: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let run = fix(folder.path(), server, tool);
    assert_eq!(run.code, Some(0), "{} {tool}: {}", server.name, run.stderr);
    run.stdout
}

/// What is wrong with a script of a tool.
fn faults(tool: &str, text: &str) -> Vec<String> {
    match tool {
        "diskpar" => batch::faults(text),
        "diskpart" => {
            let mut faults = batch::faults(text);
            for file in ["look.txt", "write.txt"] {
                let lines = batch::echoed(text, file);
                if lines.len() < 2 {
                    faults.push(format!("nothing is written to {file}"));
                }
                faults.extend(diskpart::faults(&lines));
            }
            faults
        }
        "powershell" | "convert-vhd" => powershell::faults(text),
        "vds" => registry::faults(text),
        _ => Vec::new(),
    }
}

#[test]
fn every_server_has_its_scripts_or_hears_why_not() {
    let folder = tempfile::tempdir().expect("a folder");
    for server in servers::all() {
        let tools: &[&str] = match server.name {
            "esx3" => &["parted-util"],
            _ => &WINDOWS,
        };
        for tool in tools {
            let run = fix(folder.path(), &server, tool);
            if run.code == Some(0) {
                let faults = faults(tool, &run.stdout);
                assert!(faults.is_empty(), "{} {tool}: {faults:#?}", server.name);
            }
            insta::assert_snapshot!(
                format!("fix-{}-{tool}", server.name),
                run.transcript().replace("\r\n", "\n")
            );
        }
    }
}

/// The stubs for the disk of a Windows Server 2003, as it was when its plan was made.
fn server_2003(desk: Desk) -> Desk {
    desk.says(
        "wmic-diskdrive-Index=1-Size",
        &wmi("Size", &[servers::SIZE_2003]),
    )
    .says(
        "wmic-partition-DiskIndex=1-StartingOffset",
        &wmi("StartingOffset", &["32256"]),
    )
    .says("diskpart", &detail("9D4AE2F1"))
    .says("format", "Format complete.")
}

/// What wmic prints: blank lines before and after each property.
fn wmi(property: &str, values: &[&str]) -> String {
    values
        .iter()
        .map(|value| format!("\n\n{property}={value}\n\n"))
        .collect()
}

fn detail(id: &str) -> String {
    format!("{}\nDisk ID: {id}\nType   : SCSI\n", servers::MODEL_2003)
}

const YES: [&str; 2] = ["/yes", "/contents-are-backed-up"];

#[test]
fn diskpart_is_told_what_the_plan_says_on_the_right_disk_only() {
    let text = script(&servers::w2003("SQLDATA"), "diskpart");
    let (code, said, calls) = server_2003(Desk::new(&text)).run(&[]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("run it again with /yes"), "{said}");
    assert!(!calls.contains("delete"), "{calls}");

    let (code, said, calls) = server_2003(Desk::new(&text)).run(&YES);
    assert_eq!(code, 0, "{said}\n{calls}");
    let written = "    select disk 1\n    select partition 1\n    delete partition\n    create partition primary align=1024\n    \
                   assign letter=E\n    format fs=ntfs unit=64K label=\"SQLDATA\" quick nowait\n";
    assert!(calls.ends_with(written), "{calls}");
    assert!(said.contains("done; whether it helped"), "{said}");

    let one = |desk: Desk, why: &str, options: &[&str]| {
        let (code, said, calls) = desk.run(options);
        assert_eq!(code, 2, "{why}: {said}");
        assert!(said.contains(why), "{why}: {said}");
        assert!(
            !calls.contains("delete") && !calls.contains("create"),
            "{why}: {calls}"
        );
    };
    let desk = || server_2003(Desk::new(&text));
    one(
        desk().says(
            "wmic-diskdrive-Index=1-Size",
            &wmi("Size", &["440397942272"]),
        ),
        "its size is not that of the plan",
        &YES,
    );
    one(
        desk().says("diskpart", &detail("9D4AE2F0")),
        "its disk ID is not",
        &YES,
    );
    one(
        desk().says("diskpart", "VMware Virtual disk\nDisk ID: 9D4AE2F1\n"),
        "its model is not",
        &YES,
    );
    for starts in [&["32768"][..], &["32256", "450000000000"], &[]] {
        one(
            desk().says(
                "wmic-partition-DiskIndex=1-StartingOffset",
                &wmi("StartingOffset", starts),
            ),
            "its partitions do not begin where they did",
            &YES,
        );
    }
    one(desk(), "what is on its volumes will be gone", &["/yes"]);
    one(desk(), "usage: fix.cmd", &["/force"]);
}

#[test]
fn on_windows_2003_the_volume_is_formatted_behind_diskpart() {
    let text = script(&servers::w2003("SQL DATA"), "diskpart");
    let (code, said, calls) = server_2003(Desk::new(&text)).run_on_2003(&YES);
    assert_eq!(code, 0, "{said}\n{calls}");
    let written = "    create partition primary align=1024\n    assign letter=E\n\
                   format E: /FS:NTFS /A:64K /Q /V:SQL DATA\n";
    assert!(calls.ends_with(written), "{calls}");
}

#[test]
fn a_server_that_was_recreated_keeps_the_promises() {
    let folder = tempfile::tempdir().expect("a folder");
    for (mut server, from, to) in [
        (servers::w2003("SQLDATA"), "32256", "1048576"),
        (
            servers::diskpar2000(),
            "StatringOffset = 32256",
            "StatringOffset = 1048576",
        ),
        (servers::esx3("san 1"), "1 128 20964824", "1 2048 20966744"),
    ] {
        let name = format!("{}.server", server.name);
        server.write(folder.path());
        let plan = straddle(folder.path(), &["fix", &name, "--json"]);
        assert_eq!(plan.code, Some(0), "{}", plan.stderr);
        std::fs::write(folder.path().join("plan.json"), &plan.stdout).expect("writable");
        let verify = || straddle(folder.path(), &["fix", &name, "--verify", "plan.json"]);
        assert_eq!(verify().code, Some(1), "{name}: nothing was done yet");
        for (_, text) in &mut server.files {
            *text = text
                .replace(from, to)
                .replace("HiddenSectors = 63", "HiddenSectors = 2048");
        }
        server.write(folder.path());
        let run = verify();
        assert_eq!(run.code, Some(0), "{name}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn diskpar_is_answered_on_the_right_disk_only() {
    let text = script(&servers::diskpar2000(), "diskpar");
    let after = servers::diskpar_i(true).replace("32256", "1048576");
    let desk = || {
        Desk::new(&text)
            .says("diskpar-1", &servers::diskpar_i(true))
            .says("diskpar-2", &servers::diskpar_i(false))
            .says("diskpar-3", &after)
            .says("diskpar", "Done setting partition.")
            .says("format", "Format complete.")
    };
    let (code, said, calls) = desk().run(&YES);
    assert_eq!(code, 0, "{said}\n{calls}");
    let expected = "diskpar -i 1\ndiskpar -i 1\ndiskpar -s 1\n    y\n    y\n    2048\n    419988\ndiskpar -i 1\n\
                    format E: /FS:NTFS /A:64K /Q\n";
    assert_eq!(calls, expected);

    for (from, to, why) in [
        (
            "440397941760",
            "440406166528",
            "its size is not that of the plan",
        ),
        (
            "32256",
            "32768",
            "its partition's start is not that of the plan",
        ),
        (
            "440389685248",
            "440389684736",
            "its partition's length is not that of the plan",
        ),
    ] {
        let other = servers::diskpar_i(true).replace(from, to);
        let (code, said, calls) = desk().says("diskpar-1", &other).run(&YES);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(why), "{said}");
        assert_eq!(calls, "diskpar -i 1\n");
    }
    // The partition was not deleted meanwhile.
    let (code, said, calls) = desk()
        .says("diskpar-2", &servers::diskpar_i(true))
        .run(&YES);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("it still has a partition"), "{said}");
    assert!(!calls.contains("-s"), "{calls}");
}

#[test]
fn labels_reach_diskpart_as_they_are_or_are_refused() {
    let labels = [
        "SQL DATA, R&D 100% (a;b=c)",
        "%PATH% a^b %disk% %~1 50%%",
        "wow! !yes! it's %%a",
        "$(id) `id` a|b>c<d @x ~",
        "/yes",
    ];
    for label in labels {
        let text = script(&servers::w2003(label), "diskpart");
        let faults = faults("diskpart", &text);
        assert!(faults.is_empty(), "{label}: {faults:#?}");
        let (code, said, calls) = server_2003(Desk::new(&text)).run(&YES);
        assert_eq!(code, 0, "{label}: {said}");
        let expected = format!("    format fs=ntfs unit=64K label=\"{label}\" quick nowait\n");
        assert!(calls.ends_with(&expected), "{label}: {calls}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    for label in ["a\"b", "back\\", "Donn\u{e9}es", "\u{202e}x"] {
        let run = fix(folder.path(), &servers::w2003(label), "diskpart");
        assert_eq!(run.code, Some(2), "{label}: {}", run.stdout);
        assert!(
            run.stderr.contains("not safe in a script"),
            "{label}: {}",
            run.stderr
        );
    }
}

#[test]
fn labels_are_words_in_powershell_whatever_is_in_them() {
    for label in [
        "it's",
        "$(id)",
        "`id`",
        "\u{2019}; Stop-Computer; \u{2018}",
        "Donn\u{e9}es \u{1f4be}",
        "a\"b",
        "%x% & ^",
        "{}",
        "#",
    ] {
        let text = script(&servers::w2003(label), "powershell");
        let faults = faults("powershell", &text);
        assert!(faults.is_empty(), "{label}: {faults:#?}");
        let (_, rest) = text.split_once("-NewFileSystemLabel ").expect("a label");
        let (expression, _) = rest.split_once(" -Confirm").expect("its end");
        assert_eq!(evaluated(expression), label, "{expression}");
    }
}

/// Texts in single quotes and numbers of characters, put together.
fn evaluated(expression: &str) -> String {
    let bare = expression.trim_start_matches('(').trim_end_matches(')');
    let mut units: Vec<u16> = Vec::new();
    let mut rest = bare;
    while !rest.is_empty() {
        if let Some(number) = rest.strip_prefix("[char]0x") {
            let (digits, after) = number.split_at(4);
            units.push(u16::from_str_radix(digits, 16).expect("hexadecimal"));
            rest = after;
        } else {
            let mut text = rest.strip_prefix('\'').expect("a quote").chars().peekable();
            let mut used = 1;
            loop {
                let c = text.next().expect("the closing quote");
                used += c.len_utf8();
                if c == '\'' && text.next_if_eq(&'\'').is_none() {
                    break;
                }
                used += usize::from(c == '\'');
                units.extend(c.encode_utf16(&mut [0; 2]).iter());
            }
            rest = rest.get(used..).expect("a boundary");
        }
        rest = rest.strip_prefix(" + ").unwrap_or(rest);
    }
    String::from_utf16(&units).expect("text")
}

#[test]
fn an_image_of_a_disk_has_no_number_until_the_script_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("disk.img");
    std::fs::File::create(&image)
        .and_then(|file| file.set_len(300 << 20))
        .expect("a file");
    crate::support::tool(
        "fdisk",
        Command::new("sh")
            .args(["-c", "printf 'label: dos\\nlabel-id: 0x7b5c4a2d\\nstart=63, size=600000, type=7\\n' | sfdisk -q disk.img"])
            .current_dir(folder.path()),
    );
    crate::support::tool(
        "ntfs-3g",
        Command::new("sh")
            .args([
                "-c",
                "truncate -s 307200000 part && mkntfs -q -F -c 65536 -p 63 -L DATA part && dd if=part of=disk.img bs=512 seek=63 conv=notrunc status=none && rm part",
            ])
            .current_dir(folder.path()),
    );
    let run = |tool: &str| straddle(folder.path(), &["fix", "disk.img", "--script", tool]);
    for tool in ["diskpart", "powershell", "vds"] {
        let run = run(tool);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let faults = faults(tool, &run.stdout);
        assert!(faults.is_empty(), "{tool}: {faults:#?}");
        insta::assert_snapshot!(
            format!("fix-image-{tool}"),
            run.transcript().replace("\r\n", "\n")
        );
    }
    let desk = || {
        Desk::new(&run("diskpart").stdout)
            .says("wmic-diskdrive-Index=7-Size", &wmi("Size", &["312560640"]))
            .says(
                "wmic-partition-DiskIndex=7-StartingOffset",
                &wmi("StartingOffset", &["32256"]),
            )
            .says("diskpart", "Some disk\nDisk ID: 7B5C4A2D\n")
    };
    for options in [&[][..], &["/disk:x"], &["/disk:"], &["/disk:1x2"]] {
        let (code, said, calls) = desk().run(options);
        assert_eq!(code, 2, "{options:?}: {said}");
        assert_eq!(calls, "", "{options:?}");
    }
    let (code, said, calls) = desk().run(&["/disk:7", "/yes", "/contents-are-backed-up"]);
    assert_eq!(code, 0, "{said}\n{calls}");
    assert!(
        calls.contains("    select disk 7\n    select partition 1\n    delete partition\n"),
        "{calls}"
    );
    let (code, said, _) = desk().run(&["/disk:1"]);
    assert_eq!(code, 2, "{said}");
    // diskpar knows sizes of whole cylinders, and its own disks only.
    assert!(run("diskpar").stdout.contains("/disk:"));
}

/// Runs the script for ESXi in the shell of busybox, where the tools are stubs: exit status, what it said, what it called.
fn esxi(text: &str, options: &[&str], changes: &[(&str, &str)]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let there = root.display().to_string();
    let label = "san 1";
    std::fs::create_dir_all(root.join(format!("vmfs/volumes/{label}"))).expect("writable");
    std::fs::create_dir_all(root.join("vmfs/devices/disks")).expect("writable");
    std::fs::write(root.join("vmfs/devices/disks").join(servers::NAA), "").expect("writable");
    std::fs::write(root.join(format!("vmfs/volumes/{label}/.fbb.sf")), "").expect("writable");
    let mut files = vec![
        ("table".to_owned(), servers::getptbl(20_971_520, 128)),
        (
            "extents".to_owned(),
            format!("DeviceName,Partition,VolumeName,\n{},1,{label},\n", servers::NAA),
        ),
        ("vms".to_owned(), "Vmid   Name   File   Guest OS   Version   Annotation\n1   web   [other] web/web.vmx   otherGuest   vmx-08\n".to_owned()),
        ("version".to_owned(), "VMware ESXi 6.7.0 build-14320388\n".to_owned()),
    ];
    for (name, content) in changes {
        match files.iter_mut().find(|(known, _)| known == name) {
            Some((_, text)) => (*content).clone_into(text),
            None => std::fs::write(root.join(name), content).expect("writable"),
        }
    }
    for (name, text) in files {
        std::fs::write(root.join(name), text).expect("writable");
    }
    let bin = root.join("bin");
    std::fs::create_dir(&bin).expect("writable");
    let note = "name=${0##*/}\nprintf '%s' \"$name\" >> calls\nfor word in \"$@\"; do printf ' {%s}' \"$word\" >> calls; done\necho >> calls\n";
    let stubs = [
        (
            "partedUtil",
            "case $1 in getptbl) cat table ;; setptbl) [ -e refuse-table ] && exit 1\n\
             printf 'gpt\\n1305 255 63 20971520\\n%s %s %s %s vmfs %s\\n' $4 > table ;; esac",
        ),
        (
            "esxcli",
            "case \"$*\" in *'extent list') cat extents ;; *unmount*) [ ! -e busy ] ;; esac",
        ),
        ("vim-cmd", "cat vms"),
        ("vmkfstools", ":"),
        ("vmware", "cat version"),
    ];
    for (name, does) in stubs {
        let path = bin.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{note}{does}\n")).expect("writable");
        crate::support::tool("coreutils", Command::new("chmod").arg("+x").arg(&path));
    }
    std::fs::write(
        root.join("fix.sh"),
        text.replace("/vmfs/", &format!("{there}/vmfs/")),
    )
    .expect("writable");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("busybox")
        .args(["ash", "fix.sh"])
        .args(options)
        .current_dir(root)
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .expect("busybox; install the Debian package busybox");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let calls = std::fs::read_to_string(root.join("calls")).unwrap_or_default();
    (
        output.status.code().expect("it ends by itself"),
        said,
        calls.replace(&there, ""),
    )
}

#[test]
fn a_datastore_is_recreated_when_it_is_the_right_one_and_empty() {
    let text = script(&servers::esx3("san 1"), "parted-util");
    crate::support::lint(&text);

    let (code, said, calls) = esxi(&text, &[], &[]);
    assert_eq!(code, 0, "{said}");
    assert!(
        !calls.contains("setptbl") && !calls.contains("unmount"),
        "{calls}"
    );
    let disk = format!("/vmfs/devices/disks/{}", servers::NAA);
    let (code, said, calls) = esxi(&text, &["--yes"], &[]);
    assert_eq!(code, 0, "{said}\n{calls}");
    let expected = format!(
        "esxcli {{storage}} {{filesystem}} {{unmount}} {{-l}} {{san 1}}\n\
         partedUtil {{setptbl}} {{{disk}}} {{gpt}} {{1 2048 20966744 AA31E02A400F11DB9590000C2911D1B8 0}}\n\
         partedUtil {{getptbl}} {{{disk}}}\n\
         vmkfstools {{-C}} {{vmfs6}} {{-S}} {{san 1}} {{{disk}:1}}\n\
         esxcli {{storage}} {{filesystem}} {{list}}\n"
    );
    assert!(calls.ends_with(&expected), "{calls}");
    let (_, _, calls) = esxi(
        &text,
        &["--yes"],
        &[("version", "VMware ESXi 5.5.0 build-1\n")],
    );
    assert!(calls.contains("{-C} {vmfs5}"), "{calls}");

    let other_size = servers::getptbl(20_971_521, 128);
    let other_start = servers::getptbl(20_971_520, 129);
    let two = format!(
        "{}2 20964825 20971000 251 0\n",
        servers::getptbl(20_971_520, 128)
    );
    let elsewhere = "DeviceName,Partition,VolumeName,\nnaa.1,1,san 1,\n";
    let spans = format!(
        "DeviceName,Partition,VolumeName,\n{},1,san 1,\nnaa.1,1,san 1,\n",
        servers::NAA
    );
    for (name, content, why) in [
        (
            "table",
            other_size.as_str(),
            "sectors, the plan was made for 20971520",
        ),
        ("table", &other_start, "has the partitions 1 129 20964824"),
        ("table", &two, "has the partitions 1 128 20964824, 2 "),
        ("extents", elsewhere, "san 1 is not on"),
        ("extents", &spans, "san 1 has 2 extents"),
        (
            "vms",
            "Vmid Name File\n1 db [san 1] db/db.vmx\n",
            "virtual machines are registered on san 1",
        ),
        (
            "version",
            "VMware ESX 4.1.0 build-1\n",
            "this is not ESXi 5.0 or later",
        ),
        (
            "vmfs/volumes/san 1/iso.iso",
            "",
            "san 1 is not empty: iso.iso",
        ),
        ("busy", "", "san 1 cannot be unmounted"),
    ] {
        let (code, said, calls) = esxi(&text, &["--yes"], &[(name, content)]);
        assert_eq!(code, 2, "{why}: {said}");
        assert!(said.contains(why), "{why}: {said}");
        assert!(
            !calls.contains("setptbl") && !calls.contains("vmkfstools"),
            "{why}: {calls}"
        );
    }
    let full = [("vmfs/volumes/san 1/iso.iso", "")];
    let (code, said, _) = esxi(&text, &["--yes", "--contents-are-backed-up"], &full);
    assert_eq!(code, 0, "{said}");
    let (code, said, calls) = esxi(&text, &["--yes"], &[("refuse-table", "")]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("FAILED: partedUtil setptbl; san 1 is unmounted"),
        "{said}"
    );
    assert!(!calls.contains("vmkfstools"), "{calls}");
}

#[test]
fn what_is_wrong_with_a_script_is_seen() {
    let changed = |tool: &str, server: &Server, from: &str, to: &str| {
        let text = script(server, tool);
        let other = text.replacen(from, to, 1);
        assert_ne!(text, other, "{tool}: {from:?} is not in it");
        let faults = faults(tool, &other);
        assert!(
            !faults.is_empty(),
            "{tool}: {from:?} became {to:?}, and nobody saw it"
        );
    };
    let server = servers::w2003("SQLDATA");
    for (from, to) in [
        ("\r\n", "\n"),
        ("@echo off", "echo off"),
        ("DisableDelayedExpansion", "EnableDelayedExpansion"),
        (":refuse\r\n", ":refused\r\n"),
        (":failed\r\n", ":refuse\r\n"),
        ("goto usage", "goto nowhere"),
        ("\"%work%\\disk.txt\"", "%work%\\disk.txt\""),
        ("('wmic", "'wmic"),
        ("%disk%", "%dsk%"),
        ("if errorlevel 1 goto refuse\r\n", ""),
        ("find \"", "findstr \""),
        ("echo detail disk", "echo detail disc"),
        ("echo select partition 1", "rem"),
        ("align=1024", "align=1024 align=64"),
        ("align=1024", "algin=1024"),
        ("align=1024", "align=1024 offset=1024"),
        ("assign letter=E", "assign letter=E:"),
        ("unit=64K", "unit=65K"),
        ("quick nowait", "quick override"),
        ("fs=ntfs", "fs=ext4"),
        ("label=\"SQLDATA\"", "label=SQL DATA"),
        ("label=\"SQLDATA\"", "label=\"100%\""),
        ("delete partition", "clean"),
        ("> nul", "> nul & del x"),
    ] {
        changed("diskpart", &server, from, to);
    }
    for (from, to) in [
        ("diskpar -s", "diskpart -s"),
        (
            "set \"why=diskpar -s said no\"\r\n",
            "set \"why=diskpar -s said no\r\n",
        ),
        ("if \"%%a\"", "if \"%a\""),
        ("rem diskpar", "rem & diskpar"),
    ] {
        if from != "diskpar -s" {
            changed("diskpar", &servers::diskpar2000(), from, to);
        }
    }
    for (from, to) in [
        ("Get-Disk -Number 1", "Get-Disk 1"),
        ("Get-Disk -Number 1", "Get-Disk -Numbr 1"),
        ("Sort-Object -Property", "sort -Property"),
        ("Where-Object", "where"),
        ("ForEach-Object -Process", "% -Process"),
        ("Write-Output -InputObject", "echo -InputObject"),
        ("Write-Output -InputObject", "Write-Output"),
        ("function Assert-Same", "function Check-Same"),
        (
            "SupportsShouldProcess = $true",
            "SupportsShouldProcess = $false",
        ),
        ("Set-StrictMode -Version 2.0", ""),
        ("$PSCmdlet.ShouldProcess(", "$PSCmdlet.ShouldContinue("),
        ("if ($PSCmdlet", "if $PSCmdlet"),
        ("'SQLDATA'", "'SQL'DATA'"),
        ("    } catch {", "    catch {"),
        ("-Offset 1048576", "-Offset -Size 5"),
        (
            "$disk = Get-Disk",
            "Clear-Disk -Number 1\r\n$disk = Get-Disk",
        ),
    ] {
        changed("powershell", &server, from, to);
    }
    for (from, to) in [
        ("\r\n", "\n"),
        ("Version 5.00", "Version 4.00"),
        ("dword:00100000", "dword:0x100000"),
        ("dword:00100000", "dword:100000"),
        ("\"GreaterThan32GB\"=", "\"GreaterThan32\"="),
        ("\\VDS\\Alignment]", "\\VDS]"),
        ("\"GreaterThan32GB\"=", "; \"GreaterThan32GB\"="),
    ] {
        changed("vds", &server, from, to);
    }
}

#[test]
fn a_vhd_is_converted_beside_the_old_one_which_must_be_that_of_the_plan() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    for line in [
        "truncate -s 64M raw.img",
        "qemu-img convert -S 0 -f raw -O vpc -o subformat=dynamic raw.img disk.vhd",
    ] {
        let run = crate::support::tool(
            "qemu-utils",
            Command::new("sh")
                .args(["-c", line])
                .current_dir(folder.path()),
        );
        assert!(run.status.success(), "{line}");
    }
    let run = straddle(
        folder.path(),
        &["fix", "disk.vhd", "--script", "convert-vhd"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let faults = faults("convert-vhd", &run.stdout);
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(
        !run.stdout.contains("ContentsAreBackedUp"),
        "{}",
        run.stdout
    );
    for line in [
        "$path1 = (Resolve-Path -LiteralPath './disk.vhd').ProviderPath",
        "Assert-Same -What 'size' -Have $file1.Length -Want ",
        "Convert-VHD -Path $path1 -DestinationPath $new1 -VHDType Dynamic\r\n",
    ] {
        assert!(run.stdout.contains(line), "{line}: {}", run.stdout);
    }
    // A check that was taken out is missed.
    let cut = run.stdout.replace("$PSCmdlet.ShouldProcess(", "(");
    assert!(!self::faults("convert-vhd", &cut).is_empty());
}

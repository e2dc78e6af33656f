use super::*;

fn lines(bytes: &[u8]) -> Vec<(u64, String)> {
    let text = Text::new(bytes, false);
    text.lines()
        .iter()
        .map(|line| (line.number, line.text.to_owned()))
        .collect()
}

fn only(bytes: &[u8]) -> String {
    lines(bytes).remove(0).1
}

#[test]
fn all_encodings_of_windows_say_the_same() {
    let expected = "Datenträger 0";
    assert_eq!(only(expected.as_bytes()), expected);
    assert_eq!(only("\u{feff}Datenträger 0".as_bytes()), expected);
    let utf16 = |text: &str, big: bool| -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| {
                if big {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            })
            .collect()
    };
    for mark in ["", "\u{feff}"] {
        let text = format!("{mark}{expected}");
        assert_eq!(only(&utf16(&text, false)), expected);
        assert_eq!(only(&utf16(&text, true)), expected);
    }
    assert_eq!(only(b"Datentr\x84ger 0"), expected);
    assert_eq!(only(b"Datentr\xe4ger 0"), expected);
}

#[test]
fn line_numbers_are_those_of_the_file() {
    let found = lines(b"a\r\n\r\nb\r\n");
    let expected = [(1, "a"), (2, ""), (3, "b"), (4, "")];
    assert_eq!(found, expected.map(|(n, t)| (n, t.to_owned())));
}

#[test]
fn quote_marks_of_mail_are_taken_off() {
    let found = lines(b"> > Disk 0\n> >   32 KB\n>\n");
    assert_eq!(found[0].1, "Disk 0");
    assert_eq!(found[1].1, "  32 KB");
}

#[test]
fn a_line_that_a_console_broke_is_one_again() {
    let whole = format!("{}and the rest of it", "x".repeat(79));
    let (head, tail) = whole.split_at(80);
    let found = lines(format!("{head}\n{tail}\nnext\n").as_bytes());
    assert_eq!(found[0], (1, whole));
    assert_eq!(found[1], (3, "next".to_owned()));
}

#[test]
fn a_log_that_a_console_broke_at_a_blank_is_one_again() {
    let (head, tail) = (format!("{} ", "x".repeat(79)), "and the rest of it");
    let of_log = |text: String| {
        let text = Text::of_log(text.as_bytes());
        let own = |line: &Line<'_>| (line.number, line.text.to_owned());
        text.lines().iter().map(own).collect::<Vec<_>>()
    };
    let found = of_log(format!("{head}\n{tail}\n"));
    assert_eq!(found[0], (1, format!("{head}{tail}")));
    let padded = format!("{:80}\n", "x");
    assert_eq!(of_log(padded.repeat(2))[1], (2, "x".to_owned()));
}

#[test]
fn dashes_as_wide_as_the_console_end_there() {
    let ruler = format!("{}  {}", "-".repeat(39), "-".repeat(39));
    let found = lines(format!("{ruler}\n  Volumen 0\n").as_bytes());
    assert_eq!(found[0].1, ruler);
    assert_eq!(found[1].1, "  Volumen 0");
}

#[test]
fn dashes_of_pages_are_hyphens_again() {
    for (page, bare) in [
        ("—- Drive 1 —-", "---- Drive 1 ----"),
        (" ——–  ———-  —", " --------  ----------  ---"),
        ("size – 5", "size – 5"),
        ("— a note", "— a note"),
    ] {
        assert_eq!(only(page.as_bytes()), bare);
    }
}

#[test]
fn lines_that_stand_for_others_are_no_lines() {
    let text = Text::new("a\n...\nb\n-- More  --\n[…]\nc\n".as_bytes(), false);
    let found: Vec<u64> = text.lines().iter().map(|line| line.number).collect();
    assert_eq!((found, text.left_out), (vec![1, 3, 6, 7], Some(2)));
}

#[test]
fn lines_that_happen_to_have_80_characters_stay_apart() {
    let line = |n: u32| {
        format!(
            "/dev/mapper/storage-{n} : start=        2048, size=     1048576, type=83, bootable"
        )
    };
    let both = format!("{}\n{}\n", line(1), line(2));
    assert_eq!(line(1).len(), 80);
    assert_eq!(lines(both.as_bytes())[1], (2, line(2)));
}

#[test]
fn rows_of_80_characters_by_chance_stay_apart() {
    for (first, second) in [
        (
            " 1      2048s       204802047s  ext4  ",
            " 2      204802049s  409602048s  ext4",
        ),
        (
            "├─sda1  2048   512M    4096 part ",
            "└─sda2 1050625 297G    4096 part root",
        ),
        (
            "/dev/sdb1         2048    1050623   512M ",
            "/dev/sdb2      1050625  400000000 190.2G",
        ),
    ] {
        let width = first.chars().count();
        let first = format!("{first}{}", "N".repeat(80 - width));
        let found = lines(format!("{first}\n{second}\n").as_bytes());
        assert_eq!(found[1], (2, second.to_owned()));
    }
}

#[test]
fn rows_as_wide_as_their_heading_stay_apart() {
    let table = [
        "NAME        ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED RQ-SIZE  RA WSAME",
        "sda                 0   4096      0    4096     512    1 cfq       128 128    0B",
        "├─sda1           3584   4096      0    4096     512    1 cfq       128 128    0B",
        "└─sda2              0   4096      0    4096     512    1 cfq       128 128    0B",
    ];
    assert!(table.iter().all(|line| line.chars().count() == 80));
    let found = lines(table.join("\n").as_bytes());
    let found: Vec<&str> = found.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(found, table);
}

#[test]
fn blanks_that_a_console_broke_off_are_no_blank_line() {
    let padded = format!("{:80}", "sda 4096 disk");
    let found = lines(format!("{padded}\n      \nsdb\n").as_bytes());
    assert_eq!(found[0].1, "sda 4096 disk");
    assert_eq!(found[1], (3, "sdb".to_owned()));
}

#[test]
fn text_is_told_from_images() {
    assert!(looks_like_text(b"DISKPART> list disk\r\n"));
    assert!(looks_like_text(b"\xff\xfeD\0i\0s\0k\0"));
    assert!(looks_like_text(b"Gr\x94\xe1e"));
    assert!(!looks_like_text(b"\x33\xc0\x8e\xd0\xbc\x00\x7c"));
    assert!(!looks_like_text(&[0; 512]));
    let letter =
        b"PartitionNumber : 1\r\nDriveLetter     : \0\r\nOffset          : 1048576\r\n\r\n";
    assert!(looks_like_text(letter));
    assert_eq!(lines(letter)[1].1, "DriveLetter     :");
    assert!(!looks_like_text(&[b'x', 0].repeat(4)));
    assert!(!looks_like_text(b""));
    let title = b"\x1b]0;root@db1: ~\x07root@db1:~# sfdisk -d /dev/sda\r\n";
    assert!(looks_like_text(title));
    assert!(looks_like_text(b"\n \r\n"));
}

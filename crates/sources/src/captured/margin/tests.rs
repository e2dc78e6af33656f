use super::*;

fn off(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    taken_off(&mut lines);
    lines
}

#[test]
fn margins_of_all_sorts_are_taken_off() {
    let bare = ["Disk /dev/sda: 1", "Units", "", "  Device", "/dev/sda1 63"];
    let with = |margin: &dyn Fn(usize) -> String| {
        let lines: Vec<String> = bare
            .iter()
            .enumerate()
            .map(|(at, line)| format!("{}{line}", margin(at)))
            .collect();
        lines.join("\n")
    };
    let ticks: Vec<String> = bare.iter().map(|line| format!("`{line}`")).collect();
    assert_eq!(off(&ticks.join("\n")), bare);
    // `grep -n` puts no blank behind its numbers.
    let found = "1:Disk /dev/sda: 1\n2:Units\n3:\n5:/dev/sda1 63";
    let rest = ["Disk /dev/sda: 1", "Units", "", "/dev/sda1 63"];
    assert_eq!(off(found), rest);
    let cells: Vec<String> = bare.iter().map(|line| format!("\"{line}\"")).collect();
    assert_eq!(off(&cells.join("\n")), bare);
    let margins: [&dyn Fn(usize) -> String; 13] = [
        &|_| "> ".to_owned(),
        &|_| "> > ".to_owned(),
        &|_| "| ".to_owned(),
        &|_| "│".to_owned(),
        &|at| format!("{:3}  ", at + 1),
        &|_| "+".to_owned(),
        &|_| "• ".to_owned(),
        &|_| "2024-01-02T03:04:05.000001+01:00 web7 root: ".to_owned(),
        &|at| format!("2024-01-02T03:04:0{at}.123Z "),
        &|at| format!("[2024-01-02 03:04:0{at}] "),
        &|_| "Jan  2 03:04:05 web7 collect[123]: ".to_owned(),
        &|_| "2024-01-02T03:04:05+0100 web7 collect[123]: ".to_owned(),
        &|_| "2024-01-02T03:04:05.123456789Z stdout F ".to_owned(),
    ];
    for margin in margins {
        let text = with(margin);
        assert_eq!(off(&text), bare, "{text}");
    }
}

#[test]
fn pieces_of_logs_lose_their_times() {
    let text = "see:\n07:08:01 a b\n07:08:02 c\n07:08:02\nwhy?\nsome\nmore\nwords\n07:08:09 no";
    let bare = [
        "see:",
        "a b",
        "c",
        "",
        "why?",
        "some",
        "more",
        "words",
        "07:08:09 no",
    ];
    assert_eq!(off(text), bare);
}

#[test]
fn blocks_lose_their_indentation() {
    let of = |text: &'static str| {
        let mut lines: Vec<&str> = text.split('\n').collect();
        indents_taken_off(&mut lines);
        lines.join("\n")
    };
    assert_eq!(
        of("see:\n\n    a\n      b\n\n    c\nend"),
        "see:\n\na\n  b\n\nc\nend"
    );
    assert_eq!(of("\ta\n\n\tb"), "a\n\nb");
    for text in [
        "x\n    a\n    b\n    c",
        "\n   a\n   b\n   c",
        "a : b\n     c\n     d\n     e",
    ] {
        assert_eq!(of(text), text);
    }
    assert_eq!(
        off("1\t5 6\n2\t7 8\n3\t9 1\n4\t2 3"),
        ["5 6", "7 8", "9 1", "2 3"]
    );
}

#[test]
fn lines_of_a_text_stand_in_lists() {
    let mut lines = vec![
        "  msg:",
        "  - a  b",
        "  - '---  -'",
        "  - \"c  d\"",
        "- x",
        "- y",
    ];
    items_taken_off(&mut lines);
    assert_eq!(lines, ["  msg:", "a  b", "---  -", "c  d", "- x", "- y"]);
}

#[test]
fn hosts_stand_before_lines() {
    let of = |text: &'static str| {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let hosts = hosts(&mut lines)?;
        Some(hosts.into_iter().zip(lines).collect::<Vec<_>>())
    };
    let text = "db1: a b\ndb2: c d\ndb1:\ndb1: e\ndb2:   f";
    let lines = [
        ("db1", "a b"),
        ("db2", "c d"),
        ("db1", ""),
        ("db1", "e"),
        ("db2", "  f"),
    ];
    assert_eq!(of(text).as_deref(), Some(&lines[..]));
    let found = "db1.txt:Number  Start\ndb1.txt: 1  63s\ndb2/a.log:Number\ndb2/a.log: 1  64s";
    let lines = [
        ("db1.txt", "Number  Start"),
        ("db1.txt", " 1  63s"),
        ("db2/a.log", "Number"),
        ("db2/a.log", " 1  64s"),
    ];
    assert_eq!(of(found).as_deref(), Some(&lines[..]));
    for text in [
        "web_1  | a b\nweb_1  | c\nweb_1  | d\nweb_1  |",
        "[web_1] a b\n[web_1] c\n[web_1] d\n[web_1]",
        "[root@web_1:22] out: a b\n[root@web_1:22] out: c\n[root@web_1:22] out: d\n[root@web_1:22] out:",
        "[root@web_1 step 1] [NORMAL] a b\n[root@web_1 step 1] [NORMAL] c\n[root@web_1 step 1] [NORMAL] d\n[root@web_1 step 1] [NORMAL]",
    ] {
        let lines = [
            ("web_1", "a b"),
            ("web_1", "c"),
            ("web_1", "d"),
            ("web_1", ""),
        ];
        assert_eq!(of(text).as_deref(), Some(&lines[..]), "{text}");
    }
    for (open, close) in [
        ("(", ") "),
        ("<", "> "),
        ("", "> "),
        ("", "# "),
        ("", " - "),
        ("", " -> "),
        ("", " => "),
        ("", ":"),
        ("@", ": "),
        ("[", ":out] "),
        ("node/", ": "),
        ("host=", " "),
        ("stdout ", " "),
        ("probe.2.k2j3h4m5n6@", "    | "),
        ("", " out: "),
        ("", " [10.0.0.5]: "),
    ] {
        let line = |host: &str, said: &str| format!("{open}{host}{close}{said}");
        let said = ["a b", "  c", "d"];
        let text = ["db1", "db2"].map(|host| said.map(|said| line(host, said)).join("\n"));
        let text = text.join("\n");
        let mut lines: Vec<&str> = text.split('\n').collect();
        let found = hosts(&mut lines);
        assert_eq!(
            found.as_deref(),
            Some(&["db1", "db1", "db1", "db2", "db2", "db2"][..]),
            "{text}"
        );
        assert_eq!(lines, [said, said].concat(), "{text}");
    }
    let pods = "+ tools-7xk2p › tools\ntools-7xk2p tools a b\ntools-7xk2p tools   c\ntools-7xk2p tools\ntools-q9bzd tools d e\n\
                tools-q9bzd tools f\ntools-q9bzd tools g";
    let lines = of(pods).expect("two pods");
    let expected = [
        ("tools-7xk2p", "a b"),
        ("tools-7xk2p", "  c"),
        ("tools-7xk2p", ""),
        ("tools-q9bzd", "d e"),
        ("tools-q9bzd", "f"),
        ("tools-q9bzd", "g"),
    ];
    assert_eq!(lines.get(1..), Some(&expected[..]));
    // Aligned, and the name may be that of a domain, or an address.
    let lines = of("a.b.net a b\na.b.net  c\na.b.net d\na.b.net");
    let expected = [
        ("a.b.net", "a b"),
        ("a.b.net", " c"),
        ("a.b.net", "d"),
        ("a.b.net", ""),
    ];
    assert_eq!(lines.as_deref(), Some(&expected[..]));
    let lines = of("10.0.0.5: a b\n10.0.0.5: c\n10.0.0.5: d\n10.0.0.5:");
    assert_eq!(lines.map(|lines| lines[3]), Some(("10.0.0.5", "")));
    for text in [
        "a: 1\nb: 2\na: 3\nb: 4",
        "sda1: 63\nsda2: 64\nsda3: 65\nsda4: 66",
        "x1: 5\nx1: 6\nx1: 7\nx1: 8",
        // Tables whose rows begin with a name.
        "tank1 size 7T -\ntank1 free 3T -\ntank1 ashift 12 -\ntank1 x 1 -",
        "data-bcdfg size 7T -\ndata-bcdfg free 3T -\ndata-bcdfg x 1 -\ndata-bcdfh size 7T -\ndata-bcdfh free 3T -\ndata-bcdfh x 1 -",
        "NAME KEY\na.b.net a b\na.b.net c d\na.b.net d e\nsum 1",
        "sda | 1 2\nsda1 | 63 4\nsda2 | 64 4\nsda3 | 65 4",
    ] {
        assert_eq!(of(text), None, "{text}");
    }
}

#[test]
fn logs_of_several_machines_name_them() {
    let of = |text: &'static str| {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let hosts = logging_hosts(&mut lines)?;
        Some(hosts.into_iter().zip(lines).collect::<Vec<_>>())
    };
    let text = "May  2 09:12:44 db1 collect[7]: a b\nMay  2 09:12:44 db1 collect[7]:   c\n\
                May 12 09:12:45 web2 collect[9]: d\n2024-05-02T09:12:45Z web2 collect: e";
    let lines = [("db1", "a b"), ("db1", "  c"), ("web2", "d"), ("web2", "e")];
    assert_eq!(of(text).as_deref(), Some(&lines[..]));
    // Of one, and with other lines between.
    assert_eq!(
        of("May  2 09:12:44 db1 c: a b\nMay  2 09:12:44 db1 c: a b\nMay  2 09:12:44 db1 c: a b"),
        None
    );
    assert_eq!(
        of(
            "May  2 09:12:44 db1 c: a b\nx\nMay  2 09:12:44 web2 c: a b\nMay  2 09:12:44 web2 c: a b"
        ),
        None
    );
}

#[test]
fn hosts_stand_above_what_is_indented() {
    let of = |text: &'static str| {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let hosts = minions(&mut lines)?;
        Some((hosts, lines))
    };
    let text = "$ salt x\nweb1:\n    a\n\n      b\nweb2:\n    c";
    let hosts = vec!["web1", "web1", "web1", "web1", "web1", "web2", "web2"];
    let lines = vec!["$ salt x", "web1:", "a", "", "  b", "web2:", "c"];
    assert_eq!(of(text), Some((hosts, lines)));
    for text in [
        "web1:\n    a\n    b",
        "web1:\n    a\nweb2:\n    b\nc",
        "pool1:\n    version: 5000\npool2:\n    version: 5000",
        "a:\n    b\nc:\n    d",
    ] {
        assert_eq!(of(text), None, "{text}");
    }
}

#[test]
fn what_belongs_to_the_text_stays() {
    for text in [
        "| a | b |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |",
        "   1   40  10485799 5120M\n   2   10485801  27263015 8192M\n   3  5 6\n   4  7 8",
        "NAME\nsda\n├─sda1\n│ └─x\n└─sda2",
        "\"a\",\"b\"\n\"1\",\"2\"\n\"3\",\"4\"",
        "1:32256B:99B:68B\n2:100B:199B:100B\n3:200B:2B:1B\n4:3B:2B:1B",
        "a\n+--+\n+--+\n+--+\n+--+\n+--+\n+--+\n+--+\n+--+\n+--+",
    ] {
        assert_eq!(off(text), text.split('\n').collect::<Vec<_>>(), "{text}");
    }
}

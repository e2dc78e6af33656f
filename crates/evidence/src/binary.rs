//! Files that servers keep and that are no text: what they are, and what makes a text of them.

/// What a file is whose first bytes these are, in the words of an error. Nothing tells two of them but the end of their names.
pub(crate) fn of(name: &str, head: &[u8]) -> Option<&'static str> {
    let ends = |end: &str| {
        let (_, last) = name.rsplit_once('.')?;
        last.eq_ignore_ascii_case(end).then_some(())
    };
    Some(match head {
        [] => "empty",
        [b'E', b'l', b'f', b'F', b'i', b'l', ..] => {
            "an event log of Windows: `wevtutil qe FILE /lf:true /f:xml` prints it"
        }
        [0x96, 0xd5, ..] | [0xd5, 0x96, ..] => {
            "what sar keeps by day: `sadf -d FILE -- -d` prints it"
        }
        [b'P', b'K', 3, 4, ..] => {
            "a ZIP archive, as workbooks are: unpack it, or save the sheet as CSV"
        }
        [7 | 8, b't', b'a', b'e', ..] => "what blktrace recorded: `straddle trace` reads it",
        _ if ends("blg").is_some() => {
            "a binary log of Performance Monitor: `relog FILE -f CSV -o FILE.csv` prints it"
        }
        _ if ends("etl").is_some() => {
            "a trace of Windows: `xperf -i FILE -o FILE.csv -a dumper` prints it, for `straddle trace`"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn files_that_are_no_text_are_told_by_their_first_bytes() {
        for (name, head, expected) in [
            ("a", &b""[..], "empty"),
            ("System.evtx", b"ElfFil", "wevtutil"),
            ("sa20", &[0x96, 0xd5, 0x75, 0x21], "sadf"),
            ("io.xlsx", b"PK\x03\x04ab", "CSV"),
            ("sda.blktrace.0", b"\x07tae", "straddle trace"),
            ("Disk.BLG", b"\x0c\0", "relog"),
            ("disk.etl", b"\0\0\x01", "xperf"),
        ] {
            let is = of(name, head).unwrap_or_default();
            assert!(is.contains(expected), "{name}: {is}");
        }
        assert_eq!(of("iostat.txt", b"Linux 6"), None);
    }
}

//! Which verb reads a text that another one was given: somebody who has `iostat` at hand and types `check` should hear of `evidence`.

use straddle_evidence::Gathered;

use crate::bench::compat::fio_job;
use crate::rules::Why;
use crate::sources::captured;

/// As much of a text is looked at: the first figures of a log are in it.
const HEAD: usize = 64 << 10;
/// How the schema of a document of our own begins, whatever blanks are before it.
const SCHEMA: &str = r#""straddle."#;

/// Of the beginning of a text in which `check` finds nothing: that it is for another verb.
pub(crate) fn other(head: &[u8]) -> Option<Why> {
    let head = &head[..HEAD.min(head.len())];
    if !captured::looks_like_text(head) {
        return None;
    }
    let as_text = String::from_utf8_lossy(head);
    if as_text.trim_start().starts_with('{') && as_text.contains(SCHEMA) {
        return Some(Why::Document);
    }
    if fio_job::looks_like_one(&as_text) {
        return Some(Why::JobFile);
    }
    if has_figures(head) {
        return Some(Why::Evidence);
    }
    straddle_trace::recognise(head).map(|_| Why::Trace)
}

fn has_figures(mut head: &[u8]) -> bool {
    let mut gathered = Gathered::default();
    let found = straddle_evidence::read("", &mut head, &mut gathered);
    found.is_ok_and(|found| found.figures > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_the_verb_that_reads_it() {
        let iostat = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n\
                      sda 12.30 45.10 480.00 900.00 1.20 5.40 0.26 5.17\n";
        let stall = "2024-03-14 10:15:01.22 spid52      SQL Server has encountered 14 occurrence(s) of I/O requests taking longer than \
                     15 seconds to complete on file [E:\\Data\\tpcc.mdf] in database [tpcc] (5).\r\n";
        let msr = "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,usr,0,Write,1317441536,8192,1963\n";
        let job = "; random reads\n[global]\nbs=8k\nrw=randread\n[j]\nfilename=/dev/sdx\n";
        let document = "{\n  \"schema\": \"straddle.predict/1\",\n  \"predictions\": []\n}\n";
        for (text, expected) in [
            (iostat, Some(Why::Evidence)),
            (stall, Some(Why::Evidence)),
            (msr, Some(Why::Trace)),
            (job, Some(Why::JobFile)),
            (document, Some(Why::Document)),
            (
                r#"{"schema":"straddle.check/1","targets":[]}"#,
                Some(Why::Document),
            ),
            ("shopping:\n- milk\n- 2 loaves of bread\n", None),
            ("{\"name\": \"straddle\", \"version\": \"1.0.0\"}", None),
            ("", None),
        ] {
            assert_eq!(other(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(other(&[0; 4096]), None);
    }
}

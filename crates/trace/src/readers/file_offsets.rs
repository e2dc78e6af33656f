//! What programs ask of files: offsets within those, of which no disk is known.

use memchr::memmem::find;

use crate::format::{Detected, Format, Head};

/// Calls of the system, as they are listed.
pub(crate) static FILE_OFFSETS: Format = Format {
    name: "file-offsets",
    of: "strace, Process Monitor",
    says: "named, not read: offsets are within files, and a cache stands between those and the disk. Record with blktrace, or on Windows with xperf",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    (head.has(is_call) || head.has(is_heading)).then_some(Detected::Refused(
        "calls of a program, whose offsets are within files: where those lie on a disk is not in it, and reads from a cache reach none. Record where the disk is: \
         `blktrace -d /dev/DISK`, or on Windows `xperf -on DISK_IO`",
    ))
}

/// strace: the call, perhaps behind a process and a time, and what came of it.
fn is_call(line: &[u8]) -> bool {
    let starts = |at: usize| at == 0 || line.get(at - 1) == Some(&b' ');
    let call = [b"pread64(".as_slice(), b"pwrite64("]
        .into_iter()
        .find_map(|call| find(line, call).filter(|at| starts(*at)));
    call.is_some_and(|at| find(&line[at..], b") = ").is_some())
}

/// Process Monitor: its columns, of which the last has offset and length in words.
fn is_heading(line: &[u8]) -> bool {
    find(line, b"\"Operation\",\"Path\",\"Result\",\"Detail\"").is_some()
}

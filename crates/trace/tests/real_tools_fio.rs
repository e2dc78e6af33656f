//! What fio itself writes: two records of one run, which must be of the same requests.

use std::process::Command;

use crate::captures::read;

#[test]
fn two_records_of_a_run_of_fio_are_of_the_same_requests() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new("fio")
        .current_dir(folder.path())
        .args([
            "--name=job",
            "--filename=file",
            "--size=1m",
            "--ioengine=psync",
        ])
        .args([
            "--rw=randrw",
            "--bsrange=512-16k",
            "--bs_unaligned=1",
            "--loops=2",
        ])
        .args([
            "--write_iolog=iolog",
            "--write_lat_log=log",
            "--log_offset=1",
        ])
        .args(["--minimal", "--randrepeat=1"])
        .output()
        .expect("the package fio");
    assert!(output.status.success(), "{output:?}");
    let of = |name: &str| {
        let bytes = std::fs::read(folder.path().join(name)).expect(name);
        read(&bytes, name, &straddle_trace::Options::default()).expect(name)
    };
    // Event, access, start and length; each knows another time and another name.
    let places = |found: &crate::captures::Found| -> Vec<String> {
        let words = found.requests.iter().map(|request| request.split(' '));
        words
            .map(|words| words.take(4).collect::<Vec<&str>>().join(" "))
            .collect()
    };
    let iolog = of("iolog");
    assert_eq!(iolog.file.format, "iolog");
    assert_eq!(iolog.summary.counts.bad, 0, "{:?}", iolog.summary.bad);
    assert!(iolog.requests.len() > 100, "{}", iolog.requests.len());
    for name in ["log_clat.1.log", "log_lat.1.log"] {
        let log = of(name);
        assert_eq!(log.file.format, "fio-log");
        assert_eq!(log.summary.counts.bad, 0, "{:?}", log.summary.bad);
        assert_eq!(places(&log), places(&iolog), "{name}");
    }
}

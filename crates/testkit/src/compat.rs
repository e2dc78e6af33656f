//! Other tools' words from bytes: arguments, a line each; for SQLIO a parameter file behind the first empty line.

use straddle_bench::compat::{diskspd, fio_job, sqlio};
use straddle_geometry::Bytes;

/// SQLIO's arguments and its parameter file.
pub fn sqlio(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (arguments, parameters) = text.split_once("\n\n").unwrap_or((&text, ""));
    let arguments: Vec<&str> = arguments.lines().collect();
    let Ok(command) = sqlio::parse(&arguments) else {
        return;
    };
    let command = match &command.parameter_file {
        Some(_) => match command.with_parameters(parameters) {
            Ok(command) => command,
            Err(_) => return,
        },
        None => command,
    };
    assert!(!command.files.is_empty(), "nothing to measure on");
    for file in &command.files {
        assert!(
            command.workload(file.threads).concurrency() > 0,
            "no request"
        );
        for size in [command.least_size(), Bytes::mib(64), Bytes::MAX] {
            if let Ok(region) = command.region(size) {
                let end = region.base.checked_add(region.len);
                assert!(end.is_some_and(|end| end <= size), "outside of the file");
            }
        }
    }
}

/// diskspd's arguments.
pub fn diskspd(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let arguments: Vec<&str> = text.lines().collect();
    let Ok(command) = diskspd::parse(&arguments) else {
        return;
    };
    let (threads, workload) = command.workload();
    assert!(threads > 0 && workload.concurrency() > 0, "no request");
    for size in [Bytes::ZERO, Bytes::mib(64), Bytes::MAX] {
        if let Ok(region) = command.region(size) {
            let end = region.base.checked_add(region.len);
            assert!(end.is_some_and(|end| end <= size), "outside of the file");
        }
    }
}

/// A job file of fio's.
pub fn fio_job(data: &[u8]) {
    if let Ok(job) = fio_job::parse(
        &String::from_utf8_lossy(data),
        &fio_job::Surroundings::none(),
    ) {
        assert!(
            !job.cells.is_empty() && job.runs.is_none_or(|runs| !runs.is_zero()),
            "nothing to measure"
        );
        for cell in &job.cells {
            let sizes = &cell.workload.sizes;
            assert!(
                !sizes.is_empty() && sizes.iter().all(|(_, weight)| *weight > 0),
                "no length"
            );
            assert!(cell.workload.concurrency() > 0, "no request");
        }
    }
}

//! The live Windows host, by system calls: no WMI, no PowerShell and no child process.
//!
//! [`answer`] decodes what the system writes into a caller's buffer. It is safe Rust that runs on every system, so a captured
//! answer is read anywhere as it was read on the host.

pub mod answer;

//! The tests of the command, in one program: linking is most of what a change waits for. Where a test belongs is in
//! `tests/README.md`.

mod advice;
mod bench;
mod bench_journals;
mod chains;
#[path = "../collect/windows.rs"]
mod collect_windows;
mod commands;
mod compat;
mod demonstration;
mod evidence;
mod fix_formats;
mod fix_images;
mod fix_in_use;
mod fix_names;
mod fix_partitions;
mod fix_prices;
mod fix_refusals;
mod fix_verify;
mod fix_volumes;
mod fix_windows;
mod fleets;
mod history;
mod hostile;
mod hostile_bytes;
mod hostile_captures;
mod hostile_containers;
mod hostile_paths;
#[path = "../oracles/verdicts.rs"]
mod oracles;
mod pages;
mod pastes;
mod predict;
mod predict_parts;
mod readme;
mod realign;
mod rules;
mod scale;
mod serve;
mod study;
mod support;
mod syscalls;
mod trace;
mod volumes;
mod windows;
mod windows_bench;

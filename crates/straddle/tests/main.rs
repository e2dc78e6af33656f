//! The tests of this crate by its public interface, in one program: linking is most of what a change waits for.

mod captured;
mod captured_equals_image;
mod check;
mod collect_script;
mod commands;
mod corpora;
mod lost_lines;
mod md_ends;
mod volumes;

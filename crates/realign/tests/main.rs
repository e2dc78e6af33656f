//! The tests of this crate by its public interface, in one program.

mod case;
mod containers;
mod contents;
mod corpora;
mod crash;
mod damage;
mod disk;
mod ends;
#[cfg(target_os = "linux")]
mod kill;
mod tables;

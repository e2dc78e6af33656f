//! The tests of this crate by its public interface, in one program.

mod case;
mod contents;
mod crash;
mod damage;
mod disk;
mod tables;

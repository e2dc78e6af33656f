//! The tests of this crate by its public interface, in one program.

mod case;
mod containers;
mod contents;
mod crash;
mod damage;
mod disk;
mod tables;

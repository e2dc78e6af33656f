//! The tests of this crate by its public interface, in one program.

mod containers;
mod crash;
mod damage;
mod disk;

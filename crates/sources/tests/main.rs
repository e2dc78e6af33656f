//! The tests of this crate by its public interface, in one program: linking is most of what a change waits for.

mod capture_secrets;
mod collected;
mod hosts;
mod live;
mod windows;

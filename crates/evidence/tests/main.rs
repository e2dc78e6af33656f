//! The crate by its public interface.

mod corpus;
mod fuzzed;

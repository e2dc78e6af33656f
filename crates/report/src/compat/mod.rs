//! Reports of the tools whose command lines Straddle takes, in their own formats, so that what parses them goes on working.
//!
//! Each says in a line of its own that Straddle measured; the tests give that line, too, to the parsers that people
//! use.

pub mod diskspd;
pub mod sqlio;

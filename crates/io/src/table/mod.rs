//! Tables of text: where their separators and line breaks stand, and which numbers stand in their columns. It is most of what reading a
//! table costs.
//!
//! Each question has several ways to the same answer: with registers of sixty-four or thirty-two bytes on processors that have them,
//! which are asked once for each text, and with words of eight bytes everywhere. [`wide`] has the first, and all code that is unsafe.

mod digits;
mod numbers;
mod places;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod wide;

pub use digits::{digits, eight_digits};
pub use numbers::Numbers;
pub use places::{LINE_BREAK, places, room};

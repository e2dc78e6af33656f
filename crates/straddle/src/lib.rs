//! Straddle as a library: read a storage stack, apply the rules, look at the findings.
//!
//! A request that *straddles* a boundary of something below it (a stripe unit, a physical sector, a flash page) costs
//! more than one that does not. [`check()`] answers where that happens, for whatever it is given: images, devices, files, text
//! that tools printed, directories, this machine. It takes three steps, which can be taken by themselves:
//!
//! 1. A source makes a [`Stack`](stack::Stack): [`sources::image`] from a disk image, raw or virtual, or a device,
//!    [`sources::linux::host`] from a machine, live or captured, [`sources::linux::file`] from one file on it.
//! 2. [`rules::check`] gives [`Finding`](rules::Finding)s, worst first, each with its evidence, arithmetic and price.
//! 3. [`report`] turns both into text, JSON or CSV.
//!
//! ```
//! use straddle::geometry::{Bytes, Grid, Lattice, Unit};
//!
//! // A partition at sector 63, pages of 8 KiB, stripe units of 64 KiB: one request in eight straddles.
//! let unit = |n| Unit::new(n).expect("not zero");
//! let pages = Lattice::back_to_back(Bytes::new(63 * 512), unit(8 << 10));
//! assert_eq!(pages.straddling(Grid::new(unit(64 << 10))).to_string(), "12.5%");
//! ```
//!
//! Checking what was named, as the command does:
//!
//! ```no_run
//! use straddle::check::{Options, Outcome};
//! use straddle::report;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! for report in straddle::check(&["legacy.img".into()], Options::default())?.reports() {
//!     if let Outcome::Checked(checked) = report.outcome? {
//!         println!("{}", report::text::report(&checked, None));
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod check;
pub mod evidence;
mod inputs;
mod read_by;
pub mod trace;
pub mod typed;

pub use check::check;
pub use evidence::evidence;
pub use straddle_bench as bench;
pub use straddle_fix as fix;
pub use straddle_geometry as geometry;
pub use straddle_history as history;
pub use straddle_io as io;
pub use straddle_predict as predict;
pub use straddle_probe as probe;
pub use straddle_realign as realign;
pub use straddle_report as report;
pub use straddle_rules as rules;
pub use straddle_sources as sources;
pub use straddle_stack as stack;
pub use straddle_workload as workload;
pub use trace::trace;

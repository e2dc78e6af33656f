//! Stores of work: what has been taken in and is still to be done. In a steady state, none fills and none empties.
//!
//! For every store, what goes in comes out again or stays: its content after a count is its content before, and what went in,
//! less what came out. Where the two contents differ, the count holds work of requests that it does not count, or leaves out
//! work of those that it does.

/// Largest difference of a store's content over a count, as a share of what passed through it.
pub const LEVEL: f64 = 0.01;

/// A store of work while requests are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Store {
    /// What it is, in the plural.
    pub name: &'static str,
    /// What was in it when the count began: bytes, or requests.
    pub before: u64,
    /// What was in it at the end.
    pub after: u64,
    /// What went in meanwhile.
    pub passed: u64,
}

/// Requests that have come and have not been answered.
pub(crate) const REQUESTS: &str = "requests";
/// Pages of the array's cache with what members have not been told yet.
pub(crate) const DIRTY: &str = "dirty cache pages";
/// All pages of a cache that keeps what is read.
pub(super) const KEPT: &str = "cached pages";

impl Store {
    /// By how much it filled, as a share of what passed through it; below zero where it emptied.
    #[must_use]
    pub fn drift(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share needs no 64 bits")]
        let [before, after, passed] = [self.before, self.after, self.passed].map(|n| n as f64);
        (after - before) / passed.max(1.0)
    }

    /// True where its content stayed the same: within [`LEVEL`].
    #[must_use]
    pub fn is_level(&self) -> bool {
        self.drift().abs() <= LEVEL
    }
}

/// Stores at the beginning and at the end of a count, as one.
pub(super) fn between(before: &[Store], after: Vec<Store>) -> Vec<Store> {
    let pairs = before.iter().zip(after);
    let stores = pairs.map(|(before, after)| Store {
        before: before.before,
        passed: after.passed - before.passed,
        ..after
    });
    stores.collect()
}

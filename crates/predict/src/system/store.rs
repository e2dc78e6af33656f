//! Stores of work: what has been taken in and is still to be done. In a steady state, none fills and none empties.
//!
//! For every store, what goes in comes out again or stays: its content after a count is its content before, and what went in,
//! less what came out. Where the two contents differ, the count holds work of requests that it does not count, or leaves out
//! work of those that it does.

use super::System;
use crate::model::Device;

/// Largest difference of a store's content over a count, as a share of what passed through it.
pub const LEVEL: f64 = 0.01;

/// How full stores are when time begins: as after a long time of the same work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Start {
    /// Of a write-back cache: from its low-water mark, 0, to its high-water mark, 1.
    pub(crate) fill: f64,
    /// The largest fill of all scenarios that are compared: requests are drawn for that one, so that as many are drawn for each.
    pub(crate) drawn: f64,
    /// Bytes that random requests are spread over. Of a cache that holds a small part of them, few pages are made.
    pub(crate) span: Option<u64>,
}

impl Start {
    pub(crate) fn at(fill: f64, drawn: f64) -> Start {
        Start {
            fill,
            drawn,
            span: None,
        }
    }
}

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
const KEPT: &str = "cached pages";

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

impl<D: Device> System<D> {
    /// What is in each store, as if it had been there before; what passed is counted from the same instant as members count.
    pub(super) fn stores(&self) -> Vec<Store> {
        let store = |name, content, passed| Store {
            name,
            before: content,
            after: content,
            passed,
        };
        let (inside, answered) = self.measure.inside();
        let mut all = vec![store(REQUESTS, inside, answered)];
        if let Some(cached) = &self.cached {
            let pages = cached.pages();
            if cached.is_write_back() {
                all.push(store(DIRTY, pages.dirty, pages.dirtied));
            }
            if pages.keeps {
                all.push(store(KEPT, pages.all, pages.inserted));
            }
        }
        let mut members: Option<Store> = None;
        for device in &self.devices {
            if let Some((name, content)) = device.stored() {
                let of = members.get_or_insert(store(name, 0, 0));
                of.before += content;
                of.after += content;
                of.passed += device.tally().written;
            }
        }
        all.extend(members);
        all
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

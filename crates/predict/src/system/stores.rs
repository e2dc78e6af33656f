//! What a system at work has in each of its stores.

use super::System;
use super::store::{DIRTY, KEPT, REQUESTS, Store};
use crate::model::Device;

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

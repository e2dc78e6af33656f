//! etcd: what its log and its metrics say of the syncs of its write-ahead log.

pub(crate) mod histogram;
pub(crate) mod slow;

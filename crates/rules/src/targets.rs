//! What latencies are compared with.

use straddle_stack::activity::{Activity, Quantity, Role};

/// The longest mean that is good enough, in seconds, by what a database keeps there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Targets {
    /// Tables and indexes, and what nothing is known of: 20 ms (McBath, SQL-DISK-005).
    pub data: f64,
    /// The transaction log: 10 ms (the same).
    pub log: f64,
    /// Temporary tables: 20 ms, as data.
    pub tempdb: f64,
    /// The 99th percentile of flushes: 10 ms (etcd's documentation).
    pub flush: f64,
}

impl Default for Targets {
    fn default() -> Targets {
        Targets {
            data: 0.020,
            log: 0.010,
            tempdb: 0.020,
            flush: 0.010,
        }
    }
}

impl Targets {
    /// What the means of a latency are compared with, and why; `None` for what has no target.
    #[must_use]
    pub fn of(&self, activity: &Activity, latency: Quantity) -> Option<(f64, &'static str)> {
        let has = |role| activity.roles.contains(&role);
        let reads = match latency {
            Quantity::ReadLatency => true,
            Quantity::WriteLatency
            | Quantity::TransferLatency
            | Quantity::GuestLatency
            | Quantity::DeviceLatency => false,
            _ => return None,
        };
        // Of a volume that several things share, only what the most patient of them cannot bear is certain.
        Some(if has(Role::Data) {
            (self.data, "of data")
        } else if has(Role::Tempdb) {
            (self.tempdb, "of tempdb")
        } else if has(Role::Log) && !reads {
            (self.log, "of a log")
        } else if has(Role::Log) {
            // Backups and replicas read it, and nobody commits behind them.
            (self.data, "of data, for reads of a log")
        } else {
            (self.data, "of data, since nothing says what is kept there")
        })
    }
}

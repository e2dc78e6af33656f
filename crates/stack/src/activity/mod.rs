//! How a layer did, as logs, counters and benchmarks say it: what was measured while it worked, never what it is.

mod cumulative;
mod distribution;
mod figure;
mod moment;
mod quantity;
mod summary;
mod timeline;

pub use cumulative::Cumulative;
pub use distribution::Distribution;
pub use figure::Figure;
pub use moment::Moment;
pub use quantity::{Quantity, Span, Statistic, Unit};
pub use summary::{Kept, Sample, Summary};
pub use timeline::{Bin, Timeline};

use schemars::JsonSchema;
use serde::Serialize;

/// What is known of how a layer did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Activity {
    /// What a database keeps there, where file names say so.
    pub roles: Vec<Role>,
    /// Everything that was measured, each quantity once for each way in which it was measured.
    pub series: Vec<Series>,
}

/// One quantity of one layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Series {
    /// What was measured.
    pub quantity: Quantity,
    /// What of it: the mean, a percentile, the maximum.
    pub statistic: Statistic,
    /// What each figure is about.
    pub span: Span,
    /// The figures.
    pub summary: Summary,
}

/// What a database keeps in a file, or on a volume. Targets depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Tables and indexes.
    Data,
    /// The transaction log.
    Log,
    /// Temporary tables and sorts.
    Tempdb,
    /// Copies.
    Backup,
}

impl Role {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Role::Data => "data",
            Role::Log => "log",
            Role::Tempdb => "tempdb",
            Role::Backup => "backup",
        }
    }
}

impl Activity {
    /// The figures of one quantity, where it was measured in this way.
    #[must_use]
    pub fn find(&self, quantity: Quantity, statistic: Statistic, span: Span) -> Option<&Summary> {
        let same = |series: &&Series| {
            series.quantity == quantity && series.statistic == statistic && series.span == span
        };
        self.series.iter().find(same).map(|series| &series.summary)
    }

    /// The means of one quantity, where it was measured in this way.
    #[must_use]
    pub fn mean(&self, quantity: Quantity, span: Span) -> Option<&Summary> {
        self.find(quantity, Statistic::Mean, span)
    }

    /// What the last of several readings of a counter says.
    #[must_use]
    pub fn counter(&self, quantity: Quantity) -> Option<&Summary> {
        self.mean(quantity, Span::SinceStart)
    }
}

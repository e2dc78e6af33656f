//! What the facts of a stack mean: rules, and the findings they give.
//!
//! A [`Rule`] is one file under `rules/`, in the folder of its [`Family`]: its permanent [`Code`], its page, and a function that
//! looks at a [`Context`] and adds [`Finding`]s. Severity follows the price of a finding for the request sizes asked for, never the
//! mere fact of being off a grid.

mod code;
pub mod codes;
mod commands;
mod context;
mod coverage;
pub mod figures;
mod finding;
mod folklore;
mod known_lies;
mod page;
mod price;
mod refused;
mod registry;
mod repair;
mod rule;
mod rules;
pub mod search;
mod shared;
mod targets;
#[cfg(test)]
mod testing;
mod wording;

pub use code::{Code, Family, Severity, Status};
pub use commands::{COMMANDS, Lack, Supply, is_array, suitable, system};
pub use context::{Context, Options, is_idle};
pub use coverage::{Coverage, Why, coverage};
pub use finding::{Evidence, Finding};
pub use known_lies::is_plausible;
pub use page::{Folklore, Page};
pub use price::{PriceRow, Prices};
pub use refused::refused_above;
pub use registry::{FOLKLORE, RULES, by_code, check};
pub use repair::{Repair, RepairKind};
pub use rule::Rule;
pub use shared::plausible::plausible as plausible_stripe_units;
pub use shared::said::is_said_to_be_aligned;
pub use targets::Targets;
pub use wording::{Correlation, division};

//! A study: where it was published, its setup, its cells.

use super::Cell;
use crate::profile::{Origin, Refusal, registry};
use crate::scenario::Scenario;

/// A published experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What it is called in commands.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// What was published of the setup, and what was not.
    pub configuration: String,
    /// The profile of cells that name no other.
    pub profile: String,
    /// What these data cannot tell apart.
    pub identifies: Option<String>,
    /// Requests that count in each replicate, where the usual number does not do.
    pub requests: Option<u64>,
    /// What was measured. Never empty.
    pub cells: Vec<Cell>,
}

impl Study {
    /// The profiles that its cells name, each once, in order.
    #[must_use]
    pub fn profiles(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !names.contains(&cell.profile.as_str()) {
                names.push(&cell.profile);
            }
        }
        names
    }

    /// What a cell simulates.
    ///
    /// # Errors
    /// The profile is none, or a parameter that the study sets is not allowed.
    pub fn scenario(&self, cell: &Cell) -> Result<Scenario, Refusal> {
        let of = |refusal: Refusal| {
            if refusal.place.is_empty() {
                refusal.of(format!("{}, {}", self.name, cell.id))
            } else {
                refusal
            }
        };
        let mut profile = registry::load(&cell.profile).map_err(of)?;
        for section in &cell.without {
            profile = profile.without(section);
        }
        for (path, value) in &cell.set {
            let origin = Origin::Source(self.source.clone());
            profile = profile.with(path, value, origin).map_err(of)?;
        }
        Ok(Scenario {
            profile,
            workload: cell.workload.clone(),
            script: cell.script.clone(),
            arrivals: cell.arrivals,
            offset: cell.offset,
            span: cell.span,
        })
    }
}

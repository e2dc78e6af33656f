use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::Ratio;
use straddle_stack::{LayerId, Source};

use crate::{Code, Prices, Severity};

/// What a rule has to say about a layer: the facts, their evidence, the arithmetic, the price, what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The rule.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// One line: what is the case.
    pub title: String,
    /// The layer it is about: an index into the stack.
    pub layer: LayerId,
    /// What was read, and where.
    pub evidence: Vec<Evidence>,
    /// The arithmetic, written out so that it can be checked by hand.
    pub arithmetic: Vec<String>,
    /// What it costs, by request size; `None` when it is not a matter of price.
    pub prices: Option<Prices>,
    /// What else must be known to judge it: assumptions, limits, overridden facts.
    pub notes: Vec<String>,
    /// What to do next.
    pub help: Vec<String>,
}

/// A fact shown as evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// Where it was read.
    pub source: Source,
    /// What it says: `first sector = 63`.
    pub label: String,
    /// The layer whose bytes they are, when it is another than the finding's: the file that a virtual disk lies in, its
    /// parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<LayerId>,
}

impl Finding {
    /// A finding that is not priced; the severity is the rule's decision.
    #[must_use]
    pub fn new(
        code: Code,
        severity: Severity,
        layer: LayerId,
        title: impl Into<String>,
    ) -> Finding {
        Finding {
            code,
            severity,
            title: title.into(),
            layer,
            evidence: Vec::new(),
            arithmetic: Vec::new(),
            prices: None,
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// A finding whose severity follows its price.
    #[must_use]
    pub fn priced(code: Code, layer: LayerId, title: impl Into<String>, prices: Prices) -> Finding {
        let severity = Severity::of_price(prices.worst());
        Finding {
            prices: Some(prices),
            ..Finding::new(code, severity, layer, title)
        }
    }

    /// Shows where a fact was read. Assumptions and flags become notes when the finding is printed.
    #[must_use]
    pub fn evidence(mut self, source: &Source, label: impl Into<String>) -> Finding {
        self.evidence.push(Evidence {
            source: source.clone(),
            label: label.into(),
            layer: None,
        });
        self
    }

    /// The same for a fact whose bytes lie in another layer than the finding's.
    #[must_use]
    pub fn evidence_in(
        mut self,
        layer: Option<LayerId>,
        source: &Source,
        label: impl Into<String>,
    ) -> Finding {
        self.evidence.push(Evidence {
            source: source.clone(),
            label: label.into(),
            layer: layer.filter(|layer| *layer != self.layer),
        });
        self
    }

    /// Adds a line of arithmetic.
    #[must_use]
    pub fn arithmetic(mut self, line: impl Into<String>) -> Finding {
        self.arithmetic.push(line.into());
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, line: impl Into<String>) -> Finding {
        self.notes.push(line.into());
        self
    }

    /// Adds a piece of advice.
    #[must_use]
    pub fn help(mut self, line: impl Into<String>) -> Finding {
        self.help.push(line.into());
        self
    }

    /// Lowers the severity to `most`, and says why.
    #[must_use]
    pub fn at_most(mut self, most: Severity, why: impl Into<String>) -> Finding {
        if self.severity > most {
            self.severity = most;
            self.notes.push(why.into());
        }
        self
    }

    /// The worst price among the request sizes asked for; zero when it is not a matter of price.
    #[must_use]
    pub fn worst_price(&self) -> Ratio {
        self.prices.as_ref().map_or(Ratio::ZERO, Prices::worst)
    }
}

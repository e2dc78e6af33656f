//! The parameters of one model.

use std::collections::BTreeMap;

use super::{Default, Figure, Key, Origin, Range, Refusal, Value};
use crate::kernel::Time;
use crate::model::Model;

/// The parameters of one model, by the names of its keys.
#[derive(Clone, Debug)]
pub struct Section {
    model: &'static Model,
    figures: BTreeMap<&'static str, Figure>,
}

impl PartialEq for Section {
    fn eq(&self, other: &Section) -> bool {
        self.model.section == other.model.section && self.figures == other.figures
    }
}

impl Section {
    /// None yet.
    #[must_use]
    pub(crate) fn new(model: &'static Model) -> Section {
        Section {
            model,
            figures: BTreeMap::new(),
        }
    }

    pub(super) fn put(&mut self, key: &'static Key, figure: Figure) {
        self.figures.insert(key.name, figure);
    }

    pub(super) fn put_range(&mut self, name: &str, range: Range) {
        if let Some(figure) = self.figures.get_mut(name) {
            figure.range = Some(range);
        }
    }

    /// The figure of a key; `None` where it is absent.
    #[must_use]
    pub fn figure(&self, key: &Key) -> Option<&Figure> {
        self.figures.get(key.name)
    }

    /// All figures in the order of the model's keys.
    pub fn figures(&self) -> impl Iterator<Item = (&'static Key, &Figure)> {
        let keys = self.model.keys.iter();
        keys.filter_map(|key| Some((*key, self.figures.get(key.name)?)))
    }

    /// Puts defaults in their place.
    pub(super) fn complete(&mut self) -> Result<(), Refusal> {
        for key in self.model.keys {
            if self.figures.contains_key(key.name) {
                continue;
            }
            let (value, why) = match key.default {
                Default::Absent => continue,
                Default::Required => {
                    let path = format!("{}.{}", self.model.section, key.name);
                    return Err(Refusal::new(path, "missing", key.kind));
                }
                Default::Number(value, why) => (Value::Number(value), why),
                Default::Word(word, why) => (Value::Word(word), why),
            };
            let origin = Origin::Assumed(why.to_owned());
            self.figures.insert(
                key.name,
                Figure {
                    value,
                    origin,
                    range: None,
                },
            );
        }
        Ok(())
    }

    /// The number of a key in base units; `None` where it is absent.
    #[must_use]
    pub fn optional(&self, key: &Key) -> Option<f64> {
        match self.figures.get(key.name)?.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The number of a key in base units; of one that is absent, zero.
    #[must_use]
    pub fn number(&self, key: &Key) -> f64 {
        self.optional(key).unwrap_or(0.0)
    }

    /// The number of a key that is a whole one, such as bytes; of one that is absent, zero.
    #[must_use]
    pub fn whole(&self, key: &Key) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "ranges are checked when a profile is read"
        )]
        let whole = self.number(key) as u64;
        whole
    }

    /// The time of a key; of one that is absent, none.
    #[must_use]
    pub fn time(&self, key: &Key) -> Time {
        Time::seconds(self.number(key))
    }

    /// The word of a key; of one that is absent, `""`.
    #[must_use]
    pub fn word(&self, key: &Key) -> &'static str {
        match self.figures.get(key.name).map(|figure| &figure.value) {
            Some(Value::Word(word)) => word,
            _ => "",
        }
    }

    /// The rows of a key; of one that is absent, none.
    #[must_use]
    pub fn table(&self, key: &Key) -> &[Vec<f64>] {
        match self.figures.get(key.name).map(|figure| &figure.value) {
            Some(Value::Table(rows)) => rows,
            _ => &[],
        }
    }

    /// A refusal of one of its values, because it does not go with the others.
    #[must_use]
    pub fn refuse(&self, key: &Key, expected: impl std::fmt::Display) -> Refusal {
        let found = match self.figures.get(key.name).map(|figure| &figure.value) {
            Some(Value::Number(number)) => super::value::show(key.kind, *number),
            Some(Value::Word(word)) => (*word).to_owned(),
            Some(Value::Table(rows)) => format!("{rows:?}"),
            None => "missing".to_owned(),
        };
        Refusal::new(
            format!("{}.{}", self.model.section, key.name),
            found,
            expected,
        )
    }
}

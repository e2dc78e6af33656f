//! Devices and arrays as data: parameters of models, each figure with its source.
//!
//! A profile is TOML: a title, and a section for each model that takes part, such as `[disk]` and `[array]`. Each figure is
//! an inline table with `value` and one of `source`, `computed`, `fitted` or `assumed`, and perhaps a `range`; a bare value
//! is refused. `device = "NAME"` takes the sections of another profile first.

mod figure;
mod key;
mod level;
mod read;
mod refusal;
pub mod registry;
mod section;
pub mod value;

pub use figure::{Figure, Origin, Range};
pub use key::{Default, Key, Kind};
pub(crate) use level::level;
pub use refusal::Refusal;
pub use section::Section;
pub use value::Value;

use std::collections::BTreeMap;
use straddle_geometry::Unit;

use crate::model::{self, Model};

/// A device or an array: parameters of the models that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What it is called in commands.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// What should be known about it: what was published, what it stands for.
    pub summary: String,
    sections: BTreeMap<&'static str, Section>,
}

impl Profile {
    /// The section of a model; `None` where the model takes no part.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.get(name)
    }

    /// The section of a model that takes part in any case.
    pub(crate) fn required(&self, name: &str) -> Result<&Section, Refusal> {
        self.section(name)
            .ok_or_else(|| Refusal::new(name, "missing", "a section"))
    }

    /// All sections in the order of the stack, highest first.
    pub fn sections(&self) -> impl Iterator<Item = (&'static Model, &Section)> {
        let models = model::MODELS.iter();
        models.filter_map(|model| Some((*model, self.sections.get(model.section)?)))
    }

    /// Whether it is of one disk or SSD, of which arrays are made.
    pub(crate) fn is_single(&self) -> bool {
        self.section_of_several().is_none()
    }

    /// The highest section that a single disk or SSD does not have.
    pub(crate) fn section_of_several(&self) -> Option<&'static str> {
        let mut sections = self.sections().map(|(model, _)| model.section);
        sections.find(|section| matches!(*section, "array" | "cache" | "controller"))
    }

    /// How fast its disks turn, in revolutions a minute, if they do.
    pub(crate) fn rotation(&self) -> Option<f64> {
        let mut figures = self.section("disk")?.figures();
        let (_, speed) = figures.find(|(key, _)| key.name == "rotation")?;
        match speed.value {
            Value::Number(speed) => Some(speed),
            _ => None,
        }
    }

    /// The same with another value for `SECTION.KEY`, as a flag or a study says. A section that was absent appears.
    ///
    /// # Errors
    /// An unknown section or key, or a value that is not allowed.
    pub fn with(
        mut self,
        path: &str,
        value: &toml::Value,
        origin: Origin,
    ) -> Result<Profile, Refusal> {
        let unknown = |found: &str, expected: String| Refusal::new(path, found, expected);
        let (section, name) = path
            .split_once('.')
            .ok_or_else(|| unknown("no SECTION.KEY", "such as array.stripe_unit".to_owned()))?;
        let model =
            model::find(section).ok_or_else(|| unknown("of an unknown section", model::names()))?;
        let key = model
            .key(name)
            .ok_or_else(|| unknown("an unknown key", model.key_names()))?;
        // Levels are written as people say them: 5, RAID10, 1+0.
        let level = (path == "array.level").then(|| toml::Value::String(level::of_value(value)));
        let value = level.as_ref().unwrap_or(value);
        let value = value::parse(key.kind, value)
            .ok_or_else(|| Refusal::new(path, value::found(key.kind, value), key.kind))?;
        let figure = Figure {
            value,
            origin,
            range: None,
        };
        self.sections
            .entry(model.section)
            .or_insert_with(|| Section::new(model))
            .put(key, figure);
        Ok(self)
    }

    /// The same with a range around a figure that is there.
    #[must_use]
    pub(crate) fn ranged(mut self, path: &str, range: Range) -> Profile {
        if let Some((section, name)) = path.split_once('.')
            && let Some(section) = self.sections.get_mut(section)
        {
            section.put_range(name, range);
        }
        self
    }

    /// The same with sections of another profile, in place of its own where it has them.
    #[must_use]
    pub(crate) fn with_sections(mut self, of: &Profile, names: &[&str]) -> Profile {
        for (name, section) in &of.sections {
            if names.contains(name) {
                self.sections.insert(name, section.clone());
            }
        }
        self
    }

    /// The same without a model.
    #[must_use]
    pub fn without(mut self, section: &str) -> Profile {
        self.sections.remove(section);
        self
    }

    /// Every figure: section, key, figure; defaults that took effect are among them, as assumptions.
    pub fn figures(&self) -> impl Iterator<Item = (&'static Model, &'static Key, &Figure)> {
        self.sections().flat_map(|(model, section)| {
            section
                .figures()
                .map(move |(key, figure)| (model, key, figure))
        })
    }

    /// The physical sector of its disks; `None` where it has none.
    #[must_use]
    pub fn physical_sector(&self) -> Option<Unit> {
        let mut figures = self.section("disk")?.figures();
        let (_, format) = figures.find(|(key, _)| key.name == "format")?;
        match format.value {
            Value::Word("512n") => Unit::new(512),
            Value::Word(_) => Some(Unit::B4096),
            _ => None,
        }
    }

    /// The sections as a system wants them, each complete: required keys are there and defaults in their place.
    ///
    /// # Errors
    /// The first key that is missing.
    pub fn complete(&self) -> Result<Profile, Refusal> {
        let mut complete = self.clone();
        for section in complete.sections.values_mut() {
            section
                .complete()
                .map_err(|refusal| refusal.of(&self.name))?;
        }
        Ok(complete)
    }
}

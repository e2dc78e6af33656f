//! What a model declares: its section of profiles and its parameters.

use crate::profile::Key;

/// What a model is called and which parameters it has.
#[derive(Debug)]
pub struct Model {
    /// Its section in profiles.
    pub section: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// Its parameters.
    pub keys: &'static [&'static Key],
}

impl Model {
    /// Its parameter of that name.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name).copied()
    }

    /// The names of its parameters, for a message.
    #[must_use]
    pub fn key_names(&self) -> String {
        let names: Vec<&str> = self.keys.iter().map(|key| key.name).collect();
        names.join(", ")
    }
}

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use xxhash_rust::xxh3::Xxh3;

use crate::Run;

/// What a run is known by on every machine: 128 bits of XXH3 over its verb, machine, time and document, in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u128);

impl Key {
    /// The key of a run.
    #[must_use]
    pub fn of(run: &Run) -> Key {
        Key::parts(&run.verb, &run.machine, run.began, &run.document)
    }

    pub(crate) fn parts(verb: &str, machine: &str, began: i64, document: &str) -> Key {
        let mut digest = Xxh3::new();
        for part in [verb, machine, document] {
            // The length in front, so that no two parts can be taken apart otherwise.
            digest.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            digest.update(part.as_bytes());
        }
        digest.update(&began.to_le_bytes());
        Key(digest.digest128())
    }

    pub(crate) fn bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Key {
        Key(u128::from_be_bytes(bytes))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Key, String> {
        if text.len() != 32 {
            return Err(format!(
                "a key has 32 hexadecimal digits, this one {}",
                text.len()
            ));
        }
        let number = u128::from_str_radix(text, 16);
        number
            .map(Key)
            .map_err(|error| format!("{text} is no key: {error}"))
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

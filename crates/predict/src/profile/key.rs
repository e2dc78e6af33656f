//! What parameters there are: each model declares its own, with unit, allowed range and meaning, and everything else
//! (reading, refusing, documenting, varying, fitting) follows from that.

use std::fmt;

/// A parameter of a model.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name inside the model's section of a profile.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// What it is, as a sentence.
    pub meaning: &'static str,
    /// What holds when a profile does not say.
    pub default: Default,
}

/// What values a parameter takes. Ranges include both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A span of time; limits in seconds. Written `"0.4 ms"`.
    Time(f64, f64),
    /// A number of bytes. Written `"64 KiB"` or as an integer.
    Bytes(f64, f64),
    /// A whole number.
    Count(f64, f64),
    /// Any number, with its unit for people.
    Number(f64, f64, &'static str),
    /// Bytes each second. Written `"98 MB/s"` or as a number.
    Rate(f64, f64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Rows of numbers, with what each column is and its limits.
    Table(&'static [(&'static str, f64, f64)]),
}

/// What holds when a profile does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// Every profile must say.
    Required,
    /// The mechanism is absent.
    Absent,
    /// This value, in base units, for this reason.
    Number(f64, &'static str),
    /// This word, for this reason.
    Word(&'static str, &'static str),
}

impl Key {
    const fn new(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
        Key {
            name,
            kind,
            meaning,
            default: Default::Required,
        }
    }

    /// A span of time, limits in seconds.
    #[must_use]
    pub const fn time(name: &'static str, least: f64, most: f64, meaning: &'static str) -> Key {
        Key::new(name, Kind::Time(least, most), meaning)
    }

    /// A number of bytes.
    #[must_use]
    pub const fn bytes(name: &'static str, least: f64, most: f64, meaning: &'static str) -> Key {
        Key::new(name, Kind::Bytes(least, most), meaning)
    }

    /// A whole number.
    #[must_use]
    pub const fn count(name: &'static str, least: f64, most: f64, meaning: &'static str) -> Key {
        Key::new(name, Kind::Count(least, most), meaning)
    }

    /// Any number of `unit`.
    #[must_use]
    pub const fn number(
        name: &'static str,
        least: f64,
        most: f64,
        unit: &'static str,
        meaning: &'static str,
    ) -> Key {
        Key::new(name, Kind::Number(least, most, unit), meaning)
    }

    /// Bytes each second.
    #[must_use]
    pub const fn rate(name: &'static str, least: f64, most: f64, meaning: &'static str) -> Key {
        Key::new(name, Kind::Rate(least, most), meaning)
    }

    /// One of some words.
    #[must_use]
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        meaning: &'static str,
    ) -> Key {
        Key::new(name, Kind::Word(words), meaning)
    }

    /// Rows of numbers.
    #[must_use]
    pub const fn table(
        name: &'static str,
        columns: &'static [(&'static str, f64, f64)],
        meaning: &'static str,
    ) -> Key {
        Key::new(name, Kind::Table(columns), meaning)
    }

    /// Without it, the mechanism is absent.
    #[must_use]
    pub const fn optional(self) -> Key {
        Key {
            default: Default::Absent,
            ..self
        }
    }

    /// Without it, this value in base units, for this reason.
    #[must_use]
    pub const fn or(self, value: f64, why: &'static str) -> Key {
        Key {
            default: Default::Number(value, why),
            ..self
        }
    }

    /// Without it, this word, for this reason.
    #[must_use]
    pub const fn or_word(self, word: &'static str, why: &'static str) -> Key {
        Key {
            default: Default::Word(word, why),
            ..self
        }
    }
}

impl fmt::Display for Kind {
    /// `0.1 ms to 50 ms`, `one of off, on`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: f64| super::value::show(*self, value);
        match self {
            Kind::Time(least, most)
            | Kind::Bytes(least, most)
            | Kind::Number(least, most, _)
            | Kind::Rate(least, most) => write!(f, "{} to {}", number(*least), number(*most)),
            Kind::Count(least, most) => {
                write!(f, "a whole number, {} to {}", number(*least), number(*most))
            }
            Kind::Word(words) => write!(f, "one of {}", words.join(", ")),
            Kind::Table(columns) => {
                f.write_str("rows of ")?;
                for (at, (name, least, most)) in columns.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{name} ({least} to {most})")?;
                }
                Ok(())
            }
        }
    }
}

//! Tables of TOML, field by field: what is unknown, missing or of another kind is refused by its place.

use crate::profile::Refusal;

/// A table whose keys are all known.
pub(crate) struct Fields<'a> {
    path: String,
    table: &'a toml::Table,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(
        path: impl Into<String>,
        table: &'a toml::Table,
        known: &[&[&str]],
    ) -> Result<Fields<'a>, Refusal> {
        let fields = Fields {
            path: path.into(),
            table,
        };
        let is_known = |key: &str| known.iter().any(|some| some.contains(&key));
        match table.keys().find(|key| !is_known(key)) {
            None => Ok(fields),
            Some(key) => Err(Refusal::new(
                fields.at(key),
                "an unknown key",
                known.concat().join(", "),
            )),
        }
    }

    /// `cell 3, published`.
    pub(crate) fn at(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a toml::Value> {
        self.table.get(key)
    }

    pub(crate) fn refuse(&self, key: &str, expected: impl std::fmt::Display) -> Refusal {
        match self.table.get(key) {
            Some(found) => Refusal::new(self.at(key), found, expected),
            None => Refusal::new(self.at(key), "missing", expected),
        }
    }

    /// A value that is there is taken by `take`, or refused.
    pub(crate) fn with<T>(
        &self,
        key: &str,
        expected: &str,
        take: impl FnOnce(&'a toml::Value) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        match self.table.get(key) {
            None => Ok(None),
            Some(value) => take(value)
                .map(Some)
                .ok_or_else(|| self.refuse(key, expected)),
        }
    }

    /// Text without the breaks of its lines, which are those of the file.
    pub(crate) fn optional_text(&self, key: &str) -> Result<Option<String>, Refusal> {
        self.with(key, "text that is not empty", |value| {
            let words: Vec<&str> = value.as_str()?.split_whitespace().collect();
            (!words.is_empty()).then(|| words.join(" "))
        })
    }

    pub(crate) fn text(&self, key: &str) -> Result<String, Refusal> {
        self.optional_text(key)?
            .ok_or_else(|| self.refuse(key, "text"))
    }

    pub(crate) fn truth(&self, key: &str) -> Result<bool, Refusal> {
        let found = self.with(key, "true or false", toml::Value::as_bool)?;
        Ok(found.unwrap_or(false))
    }

    pub(crate) fn whole(&self, key: &str, least: u32, most: u32) -> Result<Option<u32>, Refusal> {
        self.with(
            key,
            &format!("a whole number, {least} to {most}"),
            |value| {
                let whole = u32::try_from(value.as_integer()?).ok()?;
                (least <= whole && whole <= most).then_some(whole)
            },
        )
    }

    /// A finite number above zero.
    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>, Refusal> {
        self.with(key, "a number above zero", positive)
    }
}

/// A finite number above zero.
pub(crate) fn positive(value: &toml::Value) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "published figures are far below 2⁵³"
    )]
    let number = match value {
        toml::Value::Integer(whole) => *whole as f64,
        toml::Value::Float(number) => *number,
        _ => return None,
    };
    (number.is_finite() && number > 0.0).then_some(number)
}

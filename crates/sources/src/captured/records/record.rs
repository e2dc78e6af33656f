//! One object and its fields.

use std::borrow::Cow;

use crate::captured::number;
use crate::captured::text::Line;

/// Most objects of one output that are read.
pub(crate) const MAX_RECORDS: usize = crate::inventory::MAX_THINGS;

/// Most fields of one object; the objects of Windows have less than a hundred.
pub(super) const MAX_FIELDS: usize = 512;

/// One object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record<'t> {
    /// Its fields, in their order.
    pub(crate) fields: Vec<Field<'t>>,
}

/// A field of a [`Record`].
#[derive(Clone, Debug)]
pub(crate) struct Field<'t> {
    /// Its name.
    pub(crate) key: Cow<'t, str>,
    /// Its value as text; empty when there is none.
    pub(crate) value: Cow<'t, str>,
    /// The line that it stands in.
    pub(crate) line: Line<'t>,
}

impl<'t> Record<'t> {
    /// Adds a field, unless there are too many.
    pub(super) fn add(&mut self, field: Field<'t>) {
        if self.fields.len() < MAX_FIELDS {
            self.fields.push(field);
        }
    }

    /// A field by its name, whatever the case of its letters.
    pub(crate) fn get(&self, key: &str) -> Option<&Field<'t>> {
        self.fields
            .iter()
            .find(|field| field.key.eq_ignore_ascii_case(key))
    }

    /// A field that is not empty.
    pub(crate) fn filled(&self, key: &str) -> Option<&Field<'t>> {
        self.get(key).filter(|field| !field.value.is_empty())
    }

    /// A field of text that is not empty and not cut off with `...` or `…`.
    pub(crate) fn uncut(&self, key: &str) -> Option<&Field<'t>> {
        self.filled(key)
            .filter(|field| !field.value.contains(['…']) && !field.value.ends_with("..."))
    }

    /// A field that is a whole number.
    pub(crate) fn number(&self, key: &str) -> Option<(u64, Line<'t>)> {
        let field = self.get(key)?;
        Some((number::whole(&field.value)?, field.line))
    }

    /// True when it has all these fields.
    pub(crate) fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.get(key).is_some())
    }
}

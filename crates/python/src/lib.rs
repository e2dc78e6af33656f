//! The module `straddle` for Python, as far as it is not written in Python: see `python/straddle`.
//!
//! Documents come as JSON, the same text that the command prints; Python makes dictionaries of it.

mod arguments;
mod batches;
mod capsule;
mod columns;
mod counts;
mod documents;
mod file;
mod geometry;

use pyo3::prelude::*;

/// What Python imports.
#[pymodule(name = "_straddle")]
mod module {
    #[pymodule_export]
    use crate::arguments::Error;
    #[pymodule_export]
    use crate::counts::Counts;
    #[pymodule_export]
    use crate::documents::{check, trace};
    #[pymodule_export]
    use crate::geometry::{crossings, first_aligned};
}

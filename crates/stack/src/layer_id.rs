use schemars::JsonSchema;

/// Names a layer of one `Stack`: its index.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, JsonSchema,
)]
pub struct LayerId(usize);

impl LayerId {
    pub(crate) const fn new(index: usize) -> LayerId {
        LayerId(index)
    }

    /// The index in [`Stack::layers`](crate::Stack::layers).
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

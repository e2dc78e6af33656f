//! Who agrees to what is lost.

/// That the data of a device may be destroyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// The last component of the device's path once more (`--yes-destroy`): a slip in one of two places is noticed.
    pub name: String,
    /// Also when it is not blank.
    pub overwrite_signatures: bool,
}

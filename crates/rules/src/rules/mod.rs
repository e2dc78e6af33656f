//! One rule per file, named like the rule, in a folder for each hundred of codes. What several rules need lies in
//! [`shared`](crate::shared).

pub(crate) mod array;
pub(crate) mod atomic;
pub(crate) mod container;
pub(crate) mod facts;
pub(crate) mod filesystem;
pub(crate) mod partition;
pub(crate) mod topology;
pub(crate) mod volume;

//! Filesystems and swap.

//! Traces as recorders write them, and what they come to.

mod blocks;
mod captures;
mod column_maps;
mod damage;
mod formats;
mod recognition;

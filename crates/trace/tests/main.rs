//! Traces as recorders write them, and what they come to.

mod blocks;
mod captures;
mod column_maps;
mod damage;
mod exact;
mod formats;
mod fuzzed;
mod mixtures;
mod real_tools_fio;
mod recognition;
#[cfg(feature = "parquet")]
mod tables;
#[cfg(not(feature = "parquet"))]
mod tables_unread;
mod wire;
mod wrapped;

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
mod wire;
mod wrapped;

//! Virtual disks: in place, with every write lost, and new ones, beside the tools that own the formats.

mod crash;
mod in_place;
mod model;
mod new;
mod tools;
mod world;

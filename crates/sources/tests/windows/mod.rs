//! Answers of Windows: what decoders find in buffers that a C program laid out by mingw's headers, and in damaged ones.

mod corpora;
mod damaged;
mod disks;
mod files;
mod host;
mod properties;

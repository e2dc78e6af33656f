//! Every form of an experiment, on made ones: no figure here was measured.

mod document;
mod fio;
mod picture;
mod tables;
mod text;

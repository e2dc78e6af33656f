use std::borrow::Cow;
use straddle_geometry::{Bytes, Extent, Grid, Unit};
use straddle_stack::{
    Anomaly, AnomalyKind, Attribute, Fact, GridFact, GridRole, Key, LayerKind, Source, Value,
};

use crate::Window;

/// What a prober found.
#[derive(Clone, Debug, Default)]
pub struct Detected {
    /// The member of a family that it is (`ext4` of ext, `fat32` of FAT); the prober's name where there is none.
    pub variant: Option<&'static str>,
    /// Facts about the thing itself.
    pub attributes: Vec<Attribute>,
    /// Grids it contributes, in the window's addresses.
    pub grids: Vec<GridFact>,
    /// What is odd about it.
    pub anomalies: Vec<Anomaly>,
    /// Where the format says it ends, when that is not the end of the window.
    pub size: Option<Fact<Bytes>>,
    /// The parts it is divided into; only tables have them.
    pub children: Vec<Child>,
}

/// A part of a table: a partition or slice.
#[derive(Clone, Debug)]
pub struct Child {
    /// What it is.
    pub kind: LayerKind,
    /// What it is called: `partition 1`, `slice 2`.
    pub name: String,
    /// Where it lies, in the window's addresses; the provenance is the field that records its start.
    pub placement: Fact<Extent>,
    /// The field that records its length, or where it ends.
    pub len: Source,
    /// How it relates to the other parts of its table.
    pub nesting: Nesting,
    /// Facts about it.
    pub attributes: Vec<Attribute>,
    /// What is odd about it.
    pub anomalies: Vec<Anomaly>,
}

/// How a [`Child`] relates to the other children of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// It has its bytes for itself.
    Plain,
    /// It holds others, as an extended partition does; it is never looked into for a filesystem.
    Container,
    /// It lies in a container, as a logical partition does.
    Contained,
}

impl Detected {
    /// Adds a fact read from `len` bytes at `offset` of the window.
    pub fn record(&mut self, window: &Window<'_>, key: Key, value: Value, offset: u64, len: usize) {
        self.attributes.push(Attribute {
            key,
            value: window.fact(value, offset, len),
        });
    }

    /// Adds a grid of `unit` bytes whose boundaries start at byte `phase` of the window, read from `len` bytes at `offset`.
    /// A unit of zero adds nothing.
    pub fn record_grid(
        &mut self,
        window: &Window<'_>,
        role: GridRole,
        unit: u64,
        phase: u64,
        offset: u64,
        len: usize,
    ) {
        if let Some(unit) = Unit::new(unit) {
            let grid = Grid::with_phase(unit, Bytes::new(phase));
            self.grids.push(GridFact {
                role,
                grid: window.fact(grid, offset, len),
            });
        }
    }

    /// Adds a text fact read from `len` bytes at `offset`.
    pub fn record_text(
        &mut self,
        window: &Window<'_>,
        key: Key,
        text: impl Into<Cow<'static, str>>,
        offset: u64,
        len: usize,
    ) {
        self.record(window, key, Value::Text(text.into()), offset, len);
    }

    /// Adds an anomaly seen in `len` bytes at `offset`.
    pub fn odd(
        &mut self,
        window: &Window<'_>,
        kind: AnomalyKind,
        detail: impl Into<String>,
        offset: u64,
        len: usize,
    ) {
        self.anomalies
            .push(Anomaly::at(kind, detail, window.source(offset, len)));
    }
}

//! Small stacks built by hand, for the tests of the rules.

use std::sync::Arc;
use straddle_geometry::{
    BlockTable, Blocks, Bytes, Extent, Gap, Grid, Map, Place, Segment, Sink, Striping, TableError,
    Unit, entry,
};
use straddle_stack::activity::{
    Activity, Figure, Kept, Quantity, Role, Sample, Series, Span, Statistic, Summary,
};
use straddle_stack::{
    Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerId, LayerKind, Source, Stack, Survey,
    Value,
};

use crate::{Context, Finding, Options, Rule, Severity};

/// A table of 1 GiB in which every block is absent.
#[derive(Debug)]
struct NoBlocks {
    block: Unit,
    parent: Option<usize>,
}

impl NoBlocks {
    const SIZE: Bytes = Bytes::mib(1024);
}

impl BlockTable for NoBlocks {
    fn block(&self) -> Unit {
        self.block
    }

    fn size(&self) -> Bytes {
        NoBlocks::SIZE
    }

    fn parent(&self) -> Option<usize> {
        self.parent
    }

    fn locate(&self, offset: Bytes) -> Result<Place, TableError> {
        let run = NoBlocks::SIZE.checked_sub(offset).unwrap_or(Bytes::ZERO);
        Ok(Place::Absent { run })
    }

    fn stream(&self, range: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
        sink.gap(range, Gap::Absent);
        Ok(())
    }
}

/// A stack under construction, and the questions that tests ask of it.
pub(crate) struct Lab {
    pub(crate) stack: Stack,
    pub(crate) options: Options,
}

/// A block table in memory.
#[derive(Debug)]
struct Table {
    block: Unit,
    entries: Vec<u64>,
}

impl BlockTable for Table {
    fn block(&self) -> Unit {
        self.block
    }

    fn size(&self) -> Bytes {
        Bytes::new(self.block.get() * u64::try_from(self.entries.len()).expect("few"))
    }

    fn parent(&self) -> Option<usize> {
        None
    }

    fn locate(&self, offset: Bytes) -> Result<Place, TableError> {
        let (index, within) = offset.div_rem(self.block);
        let run = Bytes::new(self.block.get() - within.get());
        let place = self.entries[usize::try_from(index)?];
        Ok(match entry::gap(place) {
            Some(Gap::Absent) => Place::Absent { run },
            Some(_) => Place::Zero { run },
            None => Place::At {
                target: 0,
                offset: Bytes::new(place + within.get()),
                run,
            },
        })
    }

    /// The whole of it: the rules ask for nothing else.
    fn stream(&self, _: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
        sink.blocks(Bytes::ZERO, 0, &self.entries);
        Ok(())
    }
}

fn unit(n: u64) -> Unit {
    Unit::new(n).expect("a unit is not zero")
}

fn reported<T>(value: T, what: &str) -> Fact<T> {
    Fact::reported(value, format!("/sys/test/{what}"), "")
}

/// A line of a capture.
pub(crate) fn captured(file: &str, line: u64, text: &str) -> Source {
    Source::Captured {
        file: file.into(),
        line,
        text: text.to_owned(),
    }
}

impl Lab {
    pub(crate) fn new() -> Lab {
        Lab {
            stack: Stack::new(),
            options: Options::default(),
        }
    }

    /// A disk with 512-byte logical sectors and this physical sector.
    pub(crate) fn disk(&mut self, physical: u64) -> LayerId {
        let id = self.stack.push(Layer::new(LayerKind::Device, "sda"));
        self.grid(id, GridRole::LogicalSector, 512);
        self.grid(id, GridRole::PhysicalSector, physical);
        id
    }

    /// A 512e disk whose 4,096-byte sectors begin at `phase`.
    pub(crate) fn shifted_disk(&mut self, phase: u64) -> LayerId {
        let id = self.stack.push(Layer::new(LayerKind::Device, "sda"));
        let grid = Grid::with_phase(Unit::B4096, Bytes::new(phase));
        self.stack
            .layer_mut(id)
            .add_grid(GridRole::PhysicalSector, reported(grid, "alignment_offset"));
        id
    }

    /// A partition of 1 GiB that starts at a 512-byte sector.
    pub(crate) fn partition(&mut self, below: LayerId, sector: u64) -> LayerId {
        let id = self.upper(LayerKind::Partition, "", below, sector * 512);
        self.set(id, Key::StartSector, Value::Count(sector));
        self.size(id, 1 << 30);
        id
    }

    /// A layer that starts at byte `start` of the layer below.
    pub(crate) fn upper(
        &mut self,
        kind: LayerKind,
        format: &'static str,
        below: LayerId,
        start: u64,
    ) -> LayerId {
        let start = Bytes::new(start);
        let id = self.over(kind, &[below], Map::Linear { start });
        let layer = self.stack.layer_mut(id);
        if !format.is_empty() {
            layer.format = Some(format.into());
        }
        let extent = Extent::new(start, Bytes::new(1 << 30)).expect("small");
        layer.placement = Some(reported(extent, "start"));
        id
    }

    /// A filesystem at the start of the layer below, with this allocation unit.
    pub(crate) fn filesystem(
        &mut self,
        format: &'static str,
        below: LayerId,
        cluster: u64,
    ) -> LayerId {
        let id = self.upper(LayerKind::Filesystem, format, below, 0);
        self.grid(id, GridRole::AllocationUnit, cluster);
        id
    }

    /// A layer over several others.
    pub(crate) fn over(&mut self, kind: LayerKind, below: &[LayerId], map: Map) -> LayerId {
        let number = self.stack.layers().len();
        let mut layer = Layer::new(kind, format!("{} {number}", kind.name()));
        layer.below = below.to_vec();
        layer.map = map;
        self.stack.push(layer)
    }

    /// A striped array: its members' data start at `starts`.
    pub(crate) fn array(&mut self, members: &[LayerId], stripe: u64, starts: &[u64]) -> LayerId {
        let map = Map::Striped(Striping {
            unit: unit(stripe),
            starts: starts.iter().copied().map(Bytes::new).collect(),
        });
        let id = self.over(LayerKind::Array, members, map);
        self.grid(id, GridRole::StripeUnit, stripe);
        id
    }

    /// A file whose pieces are (place in the file, length, place below).
    pub(crate) fn file(&mut self, below: LayerId, pieces: &[(u64, u64, u64)]) -> LayerId {
        let piece = |&(upper, len, lower): &(u64, u64, u64)| Segment {
            upper: Extent::new(Bytes::new(upper), Bytes::new(len)).expect("small"),
            target: 0,
            lower: Bytes::new(lower),
        };
        let map = Map::segments(pieces.iter().map(piece).collect()).expect("no overlap");
        self.over(LayerKind::File, &[below], map)
    }

    /// A virtual disk in a file: where each of its blocks lies, or a mark of [`entry`].
    pub(crate) fn container(
        &mut self,
        format: &'static str,
        file: LayerId,
        block: u64,
        entries: &[u64],
    ) -> LayerId {
        let table = Table {
            block: unit(block),
            entries: entries.to_vec(),
        };
        let size = block * u64::try_from(entries.len()).expect("few");
        let map = Map::Blocks(Blocks(Arc::new(table)));
        let id = self.over(LayerKind::Container, &[file], map);
        self.stack.layer_mut(id).format = Some(format.into());
        self.size(id, size);
        id
    }

    /// A virtual disk of 1 GiB whose table has no block yet. It lies in the first of `below`; its parent is the second.
    pub(crate) fn blocks(
        &mut self,
        format: &'static str,
        below: &[LayerId],
        block: u64,
    ) -> LayerId {
        let table = Blocks(Arc::new(NoBlocks {
            block: unit(block),
            parent: (below.len() > 1).then_some(1),
        }));
        let id = self.over(LayerKind::Container, below, Map::Blocks(table));
        self.stack.layer_mut(id).format = Some(format.into());
        self.grid(id, GridRole::ContainerBlock, block);
        self.size(id, NoBlocks::SIZE.get());
        id
    }

    /// What a pass over the table of a virtual disk of 1 GiB found.
    pub(crate) fn surveyed(&mut self, id: LayerId, mapped: u64, in_parent: u64, packed: u64) {
        self.stack.layer_mut(id).survey = Some(Arc::new(Survey {
            mapped: Bytes::new(mapped),
            absent: Bytes::new(NoBlocks::SIZE.get() - mapped - packed),
            zero: Bytes::ZERO,
            packed: Bytes::new(packed),
            in_parent: Bytes::new(in_parent),
            runs: 1,
            period: unit(4096),
            bases: Vec::new(),
            windows: Vec::new(),
        }));
    }

    /// A partition of a guest at sector `guest` of a qcow2, whose clusters are out of order, on a partition of the host at
    /// sector `host` of a 4K disk.
    pub(crate) fn nested(host: u64, guest: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let partition = lab.partition(disk, host);
        let file = lab.upper(LayerKind::File, "", partition, 1 << 20);
        let entries = [3_u64, 1, 2, 4].map(|n| n * 65_536);
        let container = lab.container("qcow2", file, 65_536, &entries);
        let guest = lab.upper(LayerKind::Partition, "", container, guest * 512);
        lab.size(guest, 131_072);
        lab
    }

    pub(crate) fn grid(&mut self, id: LayerId, role: GridRole, size: u64) {
        let fact = reported(Grid::new(unit(size)), role.name());
        self.stack.layer_mut(id).add_grid(role, fact);
    }

    /// A grid that the user states.
    pub(crate) fn stated(&mut self, id: LayerId, role: GridRole, size: u64) {
        let fact = Fact::stated(Grid::new(unit(size)), "--test", size.to_string());
        self.stack.layer_mut(id).add_grid(role, fact);
    }

    pub(crate) fn set(&mut self, id: LayerId, key: Key, value: Value) {
        self.stack
            .layer_mut(id)
            .set(key, reported(value, key.name()));
    }

    pub(crate) fn bytes(&mut self, id: LayerId, key: Key, n: u64) {
        self.set(id, key, Value::Bytes(Bytes::new(n)));
    }

    pub(crate) fn text(&mut self, id: LayerId, key: Key, text: &'static str) {
        self.set(id, key, Value::Text(text.into()));
    }

    pub(crate) fn size(&mut self, id: LayerId, n: u64) {
        self.stack.layer_mut(id).size = Some(reported(Bytes::new(n), "size"));
    }

    pub(crate) fn odd(&mut self, id: LayerId, kind: AnomalyKind, detail: &str) {
        self.stack
            .layer_mut(id)
            .anomalies
            .push(Anomaly::new(kind, detail));
    }

    /// Request sizes to price instead of the usual ones.
    /// A layer by itself of which something was measured.
    pub(crate) fn active(
        &mut self,
        kind: LayerKind,
        roles: &[Role],
        series: &[(Quantity, Span, &[f64])],
    ) -> LayerId {
        let id = self.stack.push(Layer::new(kind, "measured"));
        self.make_active(id, roles, series);
        id
    }

    /// The same with one series that is no mean.
    pub(crate) fn active_as(
        &mut self,
        kind: LayerKind,
        statistic: Statistic,
        series: (Quantity, Span, &[f64]),
    ) {
        let id = self.active(kind, &[], &[series]);
        let mut activity =
            Activity::clone(self.stack.layer(id).activity.as_deref().expect("just made"));
        activity.series[0].statistic = statistic;
        self.stack.layer_mut(id).activity = Some(Arc::new(activity));
    }

    /// Figures in the order in which they were measured, each standing for one request.
    pub(crate) fn make_active(
        &mut self,
        id: LayerId,
        roles: &[Role],
        series: &[(Quantity, Span, &[f64])],
    ) {
        let figure = |value: f64| Figure::new(value).expect("finite");
        let one = |(quantity, span, values): &(Quantity, Span, &[f64])| {
            let source =
                |at: usize| captured("measured.csv", u64::try_from(at).expect("few") + 2, "");
            let first = Sample {
                value: figure(values[0]),
                at: None,
                source: source(0),
            };
            let mut summary = Summary::of(first, Some(figure(1.0)));
            for (at, value) in values.iter().enumerate().skip(1) {
                summary.add(
                    figure(*value),
                    None,
                    Some(figure(1.0)),
                    Kept::Place,
                    |place| *place = source(at),
                );
            }
            Series {
                quantity: *quantity,
                statistic: Statistic::Mean,
                span: *span,
                summary,
            }
        };
        self.stack.layer_mut(id).activity = Some(Arc::new(Activity {
            roles: roles.to_vec(),
            series: series.iter().map(one).collect(),
        }));
    }

    pub(crate) fn io(&mut self, sizes: &[u64]) {
        self.options.io = sizes.iter().copied().map(unit).collect();
    }

    /// What one rule finds.
    pub(crate) fn findings(&self, rule: &Rule) -> Vec<Finding> {
        let mut stack = self.stack.clone();
        stack.survey(&self.options.io);
        let context = Context::new(&stack, &self.options);
        let mut findings = Vec::new();
        (rule.check)(&context, &mut findings);
        assert!(findings.iter().all(|finding| finding.code == rule.code));
        findings
    }

    /// The only finding of a rule, which must have this severity and this line of arithmetic.
    pub(crate) fn one(&self, rule: &Rule, severity: Severity, arithmetic: &str) -> Finding {
        let mut findings = self.findings(rule);
        assert_eq!(findings.len(), 1, "{findings:#?}");
        let finding = findings.remove(0);
        assert_eq!(finding.severity, severity, "{finding:#?}");
        assert!(
            finding.arithmetic.iter().any(|line| line == arithmetic),
            "{finding:#?}"
        );
        finding
    }

    /// Asserts that a rule is silent.
    pub(crate) fn none(&self, rule: &Rule) {
        let findings = self.findings(rule);
        assert!(findings.is_empty(), "{findings:#?}");
    }
}

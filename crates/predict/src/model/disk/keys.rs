//! What a profile says about a disk.

use crate::model::Model;
use crate::profile::Key;

pub(super) const CAPACITY: Key = Key::bytes("capacity", 1e6, 1e15, "Bytes that it holds.");
pub(super) const FORMAT: Key = Key::word(
    "format",
    &["512n", "512e", "4Kn"],
    "Sectors: 512 bytes to the host and on the platter, 512 to the host on 4096, or 4096 both.",
);
pub(super) const SHIFT: Key = Key::bytes(
    "alignment_offset",
    0.0,
    3584.0,
    "Byte at which the first physical sector begins that lies wholly behind the first logical one.",
)
.or(0.0, "nearly all drives begin both at the same place");
pub(super) const RECORDING: Key = Key::word(
    "recording",
    &["conventional", "shingled"],
    "Whether tracks can be written one by one.",
)
.or_word("conventional", "what is sold without a word about it");

pub(super) const SPEED: Key = Key::number(
    "rotation",
    1000.0,
    30_000.0,
    "revolutions/min",
    "Rotational speed.",
);
pub(super) const SURFACES: Key = Key::count(
    "surfaces",
    1.0,
    64.0,
    "Surfaces that hold data, a head each.",
);
pub(super) const CYLINDERS: Key = Key::count(
    "cylinders",
    16.0,
    2e6,
    "Tracks of a surface. Without it, as many as the capacity takes.",
)
.optional();
pub(super) const ZONES: Key = Key::table(
    "zones",
    &[
        ("share of cylinders", 1e-6, 1.0),
        ("physical sectors of a track", 8.0, 65_536.0),
    ],
    "Zones from the outermost to the innermost.",
);

pub(super) const SINGLE: Key = Key::time(
    "single_cylinder_seek",
    1e-5,
    0.02,
    "Time to the next cylinder, until it can read.",
);
pub(super) const AVERAGE: Key = Key::time(
    "average_seek",
    1e-4,
    0.1,
    "Mean over all possible seeks, each distance weighted by how many there are. The curve goes through it; where the curve is given, it is checked against it.",
)
.optional();
pub(super) const FULL: Key = Key::time(
    "full_stroke_seek",
    1e-4,
    0.2,
    "Time from the first cylinder to the last. The curve goes through it.",
)
.optional();
pub(super) const CONSTANT: Key = Key::time(
    "seek_constant",
    0.0,
    0.1,
    "a in t(d) = a + b·√d + c·d, the time to seek over d > 1 cylinders. Without a, b and c, the curve goes through the three times above.",
)
.optional();
pub(super) const ROOT: Key = Key::number("seek_root", 0.0, 10.0, "ms/√cylinder", "b.").optional();
pub(super) const LINEAR: Key = Key::number("seek_linear", 0.0, 1.0, "ms/cylinder", "c.").optional();
pub(super) const SETTLE: Key = Key::time(
    "write_settle",
    0.0,
    0.01,
    "What a seek or a head switch takes longer before a write.",
)
.or(0.0, "reads and writes are said to take the same time");
pub(super) const SWITCH: Key = Key::time(
    "head_switch",
    0.0,
    0.01,
    "Time to another head of the same cylinder, until it can read.",
);
pub(super) const TRACK_SKEW: Key = Key::time(
    "track_skew",
    0.0,
    0.02,
    "How far a track begins behind the end of the one before in the same cylinder. Without it, as far as a head switch for a write takes.",
)
.optional();
pub(super) const CYLINDER_SKEW: Key = Key::time(
    "cylinder_skew",
    0.0,
    0.02,
    "The same for the first track of a cylinder. Without it, as far as the single-cylinder seek for a write takes.",
)
.optional();

pub(super) const OVERHEAD: Key = Key::time(
    "command_overhead",
    0.0,
    0.01,
    "From a command's arrival until the drive knows what to do. Commands that wait for the arm do so meanwhile.",
);
pub(super) const BUS: Key = Key::rate("bus", 1e5, 1e11, "Transfer rate of the interface.");
pub(super) const DEPTH: Key = Key::count(
    "queue_depth",
    1.0,
    1024.0,
    "Commands that the drive holds; others wait in front of it.",
);
pub(super) const SCHEDULING: Key = Key::word(
    "scheduling",
    &["position", "elevator", "fifo"],
    "Which command is next: the one with the shortest positioning time, the next one inwards, or the oldest.",
)
.or_word("position", "what drives with a queue have done since the 1990s");
pub(super) const PATIENCE: Key = Key::time(
    "longest_wait",
    0.001,
    3600.0,
    "Age at which a command is next, wherever it is.",
)
.optional();

pub(super) const AHEAD: Key = Key::bytes(
    "read_ahead",
    0.0,
    1e9,
    "How far it reads on behind a read when it has nothing else to do.",
);
pub(super) const SEGMENTS: Key = Key::count(
    "read_segments",
    1.0,
    64.0,
    "Runs of sectors that were read ahead and are kept.",
)
.or(16.0, "drives since the 1990s have from 3 to 32");
pub(super) const CACHE: Key = Key::bytes(
    "write_cache",
    0.0,
    1e9,
    "Bytes of writes that are answered before they are on the platter; 0 when the cache is off, or every write is flushed.",
);
pub(super) const CACHED_WRITES: Key = Key::count(
    "cached_writes",
    1.0,
    4096.0,
    "Runs of sectors, not next to each other, that the write cache holds.",
)
.or(
    128.0,
    "no maker says; it has no effect on long runs that are not random",
);
pub(super) const BATCH: Key = Key::count(
    "destage_batch",
    1.0,
    4096.0,
    "Runs of cached writes that are written in one pass, however long each is, where no sector has to be read first.",
)
.or(1.0, "each run of sectors is written by itself");
pub(super) const PARTIAL_BATCH: Key = Key::count(
    "rmw_batch",
    1.0,
    4096.0,
    "The same of runs that cover a sector in part: the sectors that are covered in part are read in one pass before it. They are never in a pass with others. Without it, half as many: what is read takes as long as what is written.",
)
.optional();
pub(super) const GAP: Key = Key::time(
    "destage_gap",
    0.0,
    0.1,
    "Time to prepare such a pass, in which the platter turns on.",
)
.or(0.0, "it is prepared while the last one is written");
pub(super) const ORDER: Key = Key::word(
    "destage_order",
    &["position", "sorted"],
    "Where a pass begins: at the cached write with the shortest positioning time, or at the next one inwards.",
)
.or_word("position", "as commands in the queue are served");

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "disk",
    title: "Hard disk",
    keys: &[
        &CAPACITY,
        &FORMAT,
        &SHIFT,
        &RECORDING,
        &SPEED,
        &SURFACES,
        &CYLINDERS,
        &ZONES,
        &SINGLE,
        &AVERAGE,
        &FULL,
        &CONSTANT,
        &ROOT,
        &LINEAR,
        &SETTLE,
        &SWITCH,
        &TRACK_SKEW,
        &CYLINDER_SKEW,
        &OVERHEAD,
        &BUS,
        &DEPTH,
        &SCHEDULING,
        &PATIENCE,
        &AHEAD,
        &SEGMENTS,
        &CACHE,
        &CACHED_WRITES,
        &BATCH,
        &PARTIAL_BATCH,
        &GAP,
        &ORDER,
    ],
};

//! Parameters of the flash model.

use crate::model::Model;
use crate::profile::Key;

pub(super) const CAPACITY: Key = Key::bytes("capacity", 4096.0, 4e18, "Bytes that it holds.");
pub(super) const CHANNELS: Key = Key::count(
    "channels",
    1.0,
    256.0,
    "Buses between the controller and the dies.",
);
pub(super) const DIES: Key = Key::count(
    "dies",
    1.0,
    4096.0,
    "Dies on all channels together; each does one thing at a time. A multiple of the channels.",
);
pub(super) const PLANES: Key = Key::count(
    "planes",
    1.0,
    16.0,
    "Planes of a die. Neighbouring pages lie on the planes of one die and are read or programmed together: a row.",
)
.or(1.0, "one page at a time unless it is said");
pub(super) const PAGE: Key =
    Key::bytes("page", 512.0, 1_048_576.0, "Bytes of a page of one plane.");
pub(super) const PAGES: Key = Key::count("pages", 1.0, 65_536.0, "Pages of an erase block.");
pub(super) const UNIT: Key = Key::bytes(
    "unit",
    512.0,
    16_777_216.0,
    "Indirection unit: what the device maps, and rewrites as a whole.",
);
pub(super) const LAYOUT: Key = Key::word(
    "layout",
    &["striped", "pages", "scattered"],
    "Where neighbouring units lie: within a row of pages side by side, and rows striped over dies, as on a device that was filled in order (striped); within a \
     row side by side, and each row anywhere, as writes of at least a row leave them (pages); or each anywhere, as small random writes leave them (scattered).",
)
.or_word("striped", "a device that was filled in order");
pub(super) const READ: Key = Key::time(
    "read",
    1e-6,
    0.1,
    "Time to read a page into its register (tR).",
);
pub(super) const PROGRAM: Key = Key::time("program", 1e-6, 1.0, "Time to program a page (tPROG).");
pub(super) const ERASE: Key = Key::time("erase", 0.0, 10.0, "Time to erase a block (tBERS).");
pub(super) const CHANNEL: Key = Key::rate("channel_rate", 1e6, 1e12, "Data rate of one channel.");
pub(super) const PAGE_COMMAND: Key = Key::time(
    "page_command",
    0.0,
    0.01,
    "Time that each page occupies its channel besides its data: command, address, correction.",
)
.or(0.0, "well below a page's transfer");
pub(super) const CODEWORD: Key = Key::bytes(
    "codeword",
    512.0,
    65_536.0,
    "What error correction needs together: reads transfer whole ones.",
)
.or(4096.0, "1 to 4 KiB are usual");
pub(super) const PROCESSORS: Key = Key::count(
    "processors",
    1.0,
    1024.0,
    "Processors that commands are served by, one each.",
)
.or(1.0, "what is not told apart is one");
pub(super) const COMMAND: Key = Key::time("command", 0.0, 0.1, "Processor time for a command.");
pub(super) const COMMAND_WRITE: Key = Key::time(
    "command_write",
    0.0,
    1.0,
    "Processor time for a write command, where it differs.",
)
.optional();
pub(super) const UNIT_TIME: Key = Key::time(
    "unit_time",
    0.0,
    0.1,
    "Processor time for each further indirection unit of a command.",
)
.or(0.0, "looking up a map in memory");
pub(super) const LINK: Key =
    Key::rate("link", 1e5, 1e12, "Data rate of the host link, each way.").optional();
pub(super) const BUFFER: Key = Key::bytes(
    "buffer",
    512.0,
    4_294_967_296.0,
    "Write buffer: a write is answered when it is there. Without it, when it has been programmed.",
)
.optional();
pub(super) const PARTIAL: Key = Key::word(
    "partial",
    &["buffered", "merged", "programmed"],
    "When a write that covers a unit in part is answered: in the buffer; when the rest of the unit has been read; or when the unit has been programmed.",
)
.or_word("buffered", "as other writes");
pub(super) const ENGINES: Key = Key::count(
    "engines",
    1.0,
    4096.0,
    "Requests that cover a unit in part are served so many at a time, each one unit after the other. Without it, they are served like others.",
)
.optional();
pub(super) const ENGINE_SERVES: Key = Key::word(
    "engine_serves",
    &["writes", "all"],
    "Which requests that cover a unit in part need an engine.",
)
.or_word("writes", "a read needs no merging");
pub(super) const ENGINE_TIME: Key = Key::time(
    "engine_time",
    1e-9,
    1.0,
    "An engine is held for this time, before the flash is asked. Without it, until the flash has answered.",
)
.optional();
pub(super) const OVER_PROVISION: Key = Key::number(
    "over_provision",
    0.005,
    100.0,
    "of the capacity",
    "Flash beyond the capacity, which garbage collection lives on. Without it, blocks are free when needed, as on a fresh device.",
)
.optional();
pub(super) const SUPERBLOCK: Key = Key::count(
    "superblock",
    1.0,
    4096.0,
    "Dies whose erase blocks are filled and erased together. Without it, all.",
)
.optional();
pub(super) const OPEN_BLOCKS: Key = Key::count(
    "open_blocks",
    1.0,
    256.0,
    "Blocks are mapped as a whole, as cards do it, and so many can be written to at a time; another one costs copying the rest of the least recent.",
)
.optional();
pub(super) const MAP_SEGMENT: Key = Key::bytes(
    "map_segment",
    4096.0,
    1e12,
    "Bytes that one page of the map tells the places of. Without it, the whole map is in memory.",
)
.optional();
pub(super) const MAP_CACHE: Key =
    Key::count("map_cache", 1.0, 1024.0, "Pages of the map in memory.")
        .or(1.0, "the least that works");

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "flash",
    title: "Flash",
    keys: &[
        &CAPACITY,
        &CHANNELS,
        &DIES,
        &PLANES,
        &PAGE,
        &PAGES,
        &UNIT,
        &LAYOUT,
        &READ,
        &PROGRAM,
        &ERASE,
        &CHANNEL,
        &PAGE_COMMAND,
        &CODEWORD,
        &PROCESSORS,
        &COMMAND,
        &COMMAND_WRITE,
        &UNIT_TIME,
        &LINK,
        &BUFFER,
        &PARTIAL,
        &ENGINES,
        &ENGINE_SERVES,
        &ENGINE_TIME,
        &OVER_PROVISION,
        &SUPERBLOCK,
        &OPEN_BLOCKS,
        &MAP_SEGMENT,
        &MAP_CACHE,
    ],
};

//! Times the analysis of a long block table beside a plain sum over the same bytes; `cargo xtask bench tables` runs it.
//!
//! ```text
//! tables make vhd|vhdx ENTRIES sequential|permuted FILE   writes a sparse file: headers and a full table
//! tables time FILE ROUNDS                                 a line for each round: analysis and sum in µs, then their time on a processor
//! tables peak FILE                                        most memory resident after one analysis, in KiB
//! ```
//!
//! The analysis is all that is done to a table: reading, decoding, counting, looking for blocks that overlap. The sum reads
//! the same bytes in the same pieces and adds them up as integers of the machine, as wide as an entry.
#![allow(clippy::print_stdout, reason = "its figures are its output")]

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use straddle_geometry::{Bytes, Unit};
use straddle_io::{ReadAt, Target};
use straddle_sources::{Overrides, Settings, image};
use straddle_stack::{Fact, LayerId, LayerKind, Stack};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const MIB: u64 = 1 << 20;
/// As much as is read of a table at once.
const PIECE: usize = 256 << 10;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["make", format, entries, order, path] => {
            let blocks = order_of(entries.parse()?, order)?;
            let file = File::create(path)?;
            match *format {
                "vhd" => vhd(&file, &blocks),
                "vhdx" => vhdx(&file, &blocks),
                other => Err(format!("no format {other}").into()),
            }
        }
        ["time", path, rounds] => time(Path::new(path), rounds.parse()?),
        ["peak", path] => peak(Path::new(path)),
        _ => Err("tables make FORMAT ENTRIES ORDER FILE | time FILE ROUNDS | peak FILE".into()),
    }
}

/// For each block of the disk, which block of the file it is.
fn order_of(entries: u32, order: &str) -> Result<Vec<u32>> {
    let mut blocks: Vec<u32> = (0..entries).collect();
    match order {
        "sequential" => {}
        "permuted" => {
            // Fisher and Yates, with Marsaglia's xorshift: the same order in every run.
            let mut state = 0x9e37_79b9_7f4a_7c15_u64;
            for last in (1..blocks.len()).rev() {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let other = state % (u64::try_from(last)? + 1);
                blocks.swap(last, usize::try_from(other)?);
            }
        }
        other => return Err(format!("no order {other}").into()),
    }
    Ok(blocks)
}

/// Blocks of 2 MiB behind bitmaps of 512 bytes.
fn vhd(file: &File, blocks: &[u32]) -> Result<()> {
    const HEADER: u64 = 512;
    const TABLE: u64 = 1536;
    let count = u32::try_from(blocks.len())?;
    let size = u64::from(count) * 2 * MIB;
    let table_len = u64::from(count) * 4;
    let data = (TABLE + table_len).next_multiple_of(512);
    let end = data + u64::from(count) * (2 * MIB + 512);
    let mut footer = vec![0; 512];
    put(&mut footer, 0, b"conectix");
    put(&mut footer, 8, &2_u32.to_be_bytes());
    put(&mut footer, 12, &0x1_0000_u32.to_be_bytes());
    put(&mut footer, 16, &HEADER.to_be_bytes());
    put(&mut footer, 28, b"win ");
    put(&mut footer, 40, &size.to_be_bytes());
    put(&mut footer, 48, &size.to_be_bytes());
    put(&mut footer, 60, &3_u32.to_be_bytes());
    put(&mut footer, 68, &[7; 16]);
    complement(&mut footer, 64);
    let mut header = vec![0; 1024];
    put(&mut header, 0, b"cxsparse");
    put(&mut header, 8, &[0xff; 8]);
    put(&mut header, 16, &TABLE.to_be_bytes());
    put(&mut header, 24, &0x1_0000_u32.to_be_bytes());
    put(&mut header, 28, &count.to_be_bytes());
    put(&mut header, 32, &0x20_0000_u32.to_be_bytes());
    complement(&mut header, 36);
    file.write_all_at(&footer, 0)?;
    file.write_all_at(&header, HEADER)?;
    let mut table = Vec::new();
    for block in blocks {
        let sector = (data + u64::from(*block) * (2 * MIB + 512)) / 512;
        table.extend(u32::try_from(sector)?.to_be_bytes());
    }
    file.write_all_at(&table, TABLE)?;
    file.write_all_at(&footer, end)?;
    Ok(())
}

/// Puts the complement of the sum of all bytes at `at`.
fn complement(bytes: &mut [u8], at: usize) {
    let sum = bytes.iter().map(|b| u32::from(*b)).sum::<u32>();
    put(bytes, at, &(!sum).to_be_bytes());
}

/// Blocks of 1 MiB; sectors of 512 bytes, so that the entry of a bitmap follows every 4,096 of them.
fn vhdx(file: &File, blocks: &[u32]) -> Result<()> {
    const METADATA: u64 = 2 * MIB;
    const TABLE: u64 = 3 * MIB;
    const RATIO: usize = 4096;
    let entries = blocks.len() + blocks.len().saturating_sub(1) / RATIO;
    let table_len = (u64::try_from(entries)? * 8).next_multiple_of(MIB);
    let data = TABLE + table_len;
    let end = data + u64::try_from(blocks.len())? * MIB;
    file.set_len(end)?;
    file.write_all_at(b"vhdxfile", 0)?;
    for (at, sequence) in [(0x1_0000, 7_u64), (0x2_0000, 6)] {
        let mut header = vec![0; 4096];
        put(&mut header, 0, b"head");
        put(&mut header, 8, &sequence.to_le_bytes());
        put(&mut header, 32, &[1; 16]);
        put(&mut header, 66, &1_u16.to_le_bytes());
        put(&mut header, 68, &u32::try_from(MIB)?.to_le_bytes());
        put(&mut header, 72, &MIB.to_le_bytes());
        crc32c(&mut header);
        file.write_all_at(&header, at)?;
    }
    let mut regions = vec![0; 64 << 10];
    put(&mut regions, 0, b"regi");
    put(&mut regions, 8, &2_u32.to_le_bytes());
    let table = 0x2dc2_7766_f623_4200_9d64_115e_9bfd_4a08;
    let metadata = 0x8b7c_a206_4790_4b9a_b8fe_575f_050f_886e;
    for (at, id, start, len) in [(16, table, TABLE, table_len), (48, metadata, METADATA, MIB)] {
        put(&mut regions, at, &guid(id));
        put(&mut regions, at + 16, &start.to_le_bytes());
        put(&mut regions, at + 24, &u32::try_from(len)?.to_le_bytes());
        put(&mut regions, at + 28, &1_u32.to_le_bytes());
    }
    crc32c(&mut regions);
    file.write_all_at(&regions, 0x3_0000)?;
    file.write_all_at(&regions, 0x4_0000)?;
    let size = u64::try_from(blocks.len())? * MIB;
    let items: [(u128, u32, u64, usize); 5] = [
        (0xcaa1_6737_fa36_4d43_b3b6_33f0_aa44_e76b, 4, MIB, 8),
        (0x2fa5_4224_cd1b_4876_b211_5dbe_d83b_f4b8, 6, size, 8),
        (0xbeca_12ab_b2e6_4523_93ef_c309_e000_c746, 6, 7, 16),
        (0x8141_bf1d_a96f_4709_ba47_f233_a8fa_ab5f, 6, 512, 4),
        (0xcda3_48c7_445d_4471_9cc9_e988_5251_c556, 6, 4096, 4),
    ];
    let mut metadata = vec![0; 128 << 10];
    put(&mut metadata, 0, b"metadata");
    put(&mut metadata, 10, &5_u16.to_le_bytes());
    for (index, (id, flags, value, len)) in items.into_iter().enumerate() {
        let (field, at) = (32 + index * 32, (64 << 10) + index * 16);
        put(&mut metadata, field, &guid(id));
        put(&mut metadata, field + 16, &u32::try_from(at)?.to_le_bytes());
        put(
            &mut metadata,
            field + 20,
            &u32::try_from(len)?.to_le_bytes(),
        );
        put(&mut metadata, field + 24, &flags.to_le_bytes());
        put(&mut metadata, at, &value.to_le_bytes());
    }
    file.write_all_at(&metadata, METADATA)?;
    let mut at = TABLE;
    for chunk in blocks.chunks(RATIO) {
        let mut table = Vec::with_capacity(RATIO * 8 + 8);
        for block in chunk {
            table.extend(((data + u64::from(*block) * MIB) | 6).to_le_bytes());
        }
        // The entry of the bitmap, which a disk without a parent does not need.
        if chunk.len() == RATIO {
            table.extend([0; 8]);
        }
        file.write_all_at(&table, at)?;
        at += u64::try_from(table.len())?;
    }
    Ok(())
}

/// The bytes of a GUID in a file of Microsoft's: the first three groups are little-endian.
fn guid(id: u128) -> [u8; 16] {
    let mut bytes = id.to_be_bytes();
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    bytes
}

/// Puts CRC-32C at byte 4, where zeroes are.
fn crc32c(bytes: &mut [u8]) {
    let mut crc = !0_u32;
    for byte in bytes.iter() {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    put(bytes, 4, &(!crc).to_le_bytes());
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

/// The image as `straddle check` sees it on an array with stripe units of 64 KiB, and the layer with the table.
fn open(path: &Path) -> Result<(Arc<Target>, Settings, Stack, LayerId)> {
    let unit = |n| Unit::new(n).ok_or("not zero");
    let settings = Settings {
        overrides: Overrides {
            stripe_unit: Some(Fact::stated(unit(64 << 10)?, "--stripe-unit", "64K")),
            ..Overrides::default()
        },
        io: vec![unit(4096)?, unit(8192)?],
        ..Settings::default()
    };
    let target = Arc::new(Target::open(path)?);
    let stack = image(&target, &settings)?;
    let container = stack
        .iter()
        .find(|(_, layer)| layer.kind == LayerKind::Container)
        .map(|(id, _)| id)
        .ok_or("no container")?;
    // The analysis that was timed must have been that of the whole table, without a fault.
    let layer = stack.layer(container);
    let survey = layer.survey.as_ref().ok_or("not surveyed")?;
    let size = layer.size.as_ref().ok_or("no size")?.value;
    if survey.mapped != size || !layer.anomalies.is_empty() {
        return Err(format!("{} mapped of {size}; {:?}", survey.mapped, layer.anomalies).into());
    }
    Ok((target, settings, stack, container))
}

fn time(path: &Path, rounds: usize) -> Result<()> {
    let (target, settings, stack, container) = open(path)?;
    // Where the table lies; the sum needs nothing else.
    let mut start = [0; 8];
    read(&target, 0, &mut start)?;
    let (at, width) = match &start {
        b"conectix" => (1536, 4),
        _ => (3 * MIB, 8),
    };
    let size = stack.layer(container).size.as_ref().ok_or("no size")?;
    let entries = match width {
        4 => size.value.get() / (2 * MIB),
        _ => size.value.get() / MIB + (size.value.get() / MIB).saturating_sub(1) / 4096,
    };
    for _ in 0..rounds {
        let mut fresh = stack.clone();
        fresh.layer_mut(container).survey = None;
        let begun = Moment::now();
        fresh.survey(&settings.io);
        let analysed = begun.elapsed();
        if fresh != stack {
            return Err("two analyses differ".into());
        }
        let begun = Moment::now();
        let sum = if width == 4 {
            sum(&target, at, entries * 4, |piece| {
                let entries = piece.as_chunks::<4>().0.iter();
                let sum = entries.fold(0, |sum: u32, n| sum.wrapping_add(u32::from_ne_bytes(*n)));
                u64::from(sum)
            })?
        } else {
            sum(&target, at, entries * 8, |piece| {
                let entries = piece.as_chunks::<8>().0.iter();
                entries.fold(0, |sum: u64, n| sum.wrapping_add(u64::from_ne_bytes(*n)))
            })?
        };
        let summed = begun.elapsed();
        std::hint::black_box(sum);
        println!(
            "{:.1} {:.1} {:.1} {:.1}",
            analysed.0, summed.0, analysed.1, summed.1
        );
    }
    Ok(())
}

/// Two clocks: that of the wall, and that of the processor, which stands still while other programs run.
struct Moment(Instant, Timespec);

impl Moment {
    fn now() -> Moment {
        Moment(Instant::now(), clock_gettime(ClockId::ThreadCPUTime))
    }

    /// What went by on both, in µs.
    fn elapsed(&self) -> (f64, f64) {
        let worked = clock_gettime(ClockId::ThreadCPUTime) - self.1;
        let worked = Duration::try_from(worked).unwrap_or_default();
        (
            self.0.elapsed().as_secs_f64() * 1e6,
            worked.as_secs_f64() * 1e6,
        )
    }
}

/// Adds up `len` bytes from `at` on.
fn sum(target: &Target, at: u64, len: u64, add: impl Fn(&[u8]) -> u64) -> Result<u64> {
    let mut piece = vec![0; PIECE];
    let (mut at, end) = (at, at + len);
    let mut sum = 0_u64;
    while at < end {
        let part = &mut piece[..usize::try_from((end - at).min(PIECE as u64))?];
        read(target, at, part)?;
        sum = sum.wrapping_add(add(part));
        at += u64::try_from(part.len())?;
    }
    Ok(sum)
}

fn read(target: &Target, at: u64, buf: &mut [u8]) -> Result<()> {
    let mut done = 0;
    while done < buf.len() {
        match target.read_at(Bytes::new(at + u64::try_from(done)?), &mut buf[done..])? {
            0 => return Err("the file ends in its table".into()),
            n => done += n,
        }
    }
    Ok(())
}

fn peak(path: &Path) -> Result<()> {
    open(path)?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    println!("{}", kib.ok_or("no VmHWM in /proc/self/status")?);
    Ok(())
}

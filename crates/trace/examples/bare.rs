//! What reading a trace costs at least: the separators are found, place and length of each request are taken from their columns, and one
//! counter goes up. Nothing is checked, nothing is known of devices, times or order; columns are those of MSR Cambridge.
//!
//! `bare TRACE.csv THREADS` prints the seconds that it took and what was counted. `cargo xtask bench trace` measures `straddle trace`
//! beside it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use straddle_geometry::Bytes;
use straddle_io::{ReadAt, Target, places, room};

const BLOCK: u64 = 512 << 10;
const COLUMNS: usize = 7;

#[expect(clippy::print_stdout, reason = "a program")]
fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("a trace");
    let threads: usize = args
        .next()
        .map_or(2, |text| text.parse().expect("a number"));
    let file = Target::open(path.as_ref()).expect("a file");
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let work = || {
        let mut bins = vec![0_u32; 1 << 22];
        let (mut block, mut ends) = (Vec::new(), Vec::new());
        loop {
            let from = next.fetch_add(BLOCK, Ordering::Relaxed);
            if from >= file.size().get() {
                return bins.iter().map(|bin| u64::from(*bin)).sum::<u64>();
            }
            block.clear();
            let mut wanted = usize::try_from(BLOCK).expect("small") + 256;
            while wanted > 0 {
                let at = Bytes::new(from + block.len() as u64);
                match file.append_at(at, wanted, &mut block).expect("readable") {
                    0 => break,
                    read => wanted -= read,
                }
            }
            one_block(&block, from > 0, &mut ends, &mut bins);
        }
    };
    let counted: u64 = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter()
            .map(|one| one.join().expect("no panic"))
            .sum()
    });
    println!("{:.4} {counted}", began.elapsed().as_secs_f64());
}

fn one_block(block: &[u8], cut: bool, ends: &mut Vec<u32>, bins: &mut [u32]) {
    let begin = match cut {
        true => memchr::memchr(b'\n', block).map_or(block.len(), |end| end + 1),
        false => 0,
    };
    ends.resize(room(block.len()), 0);
    let found = places(block, begin, block.len(), b',', ends);
    let last = usize::try_from(BLOCK).expect("small");
    for line in ends[..found].chunks_exact(COLUMNS) {
        let end = |column: usize| (line[column] & !straddle_io::LINE_BREAK) as usize;
        let number = |column: usize| {
            let text = &block[end(column - 1) + 1..end(column)];
            text.iter()
                .fold(0_u64, |sum, digit| sum * 10 + u64::from(digit & 15))
        };
        let (place, length) = (number(4), number(5));
        let bin = ((place / 512) & 2047) << 11 | ((length / 512) & 2047);
        bins[usize::try_from(bin).expect("22 bits")] += 1;
        // The line that goes on in the next block is the last of this one.
        if end(COLUMNS - 1) >= last {
            break;
        }
    }
}

//! Seeds of the volume formats with bytes changed, on a stable compiler: whatever the metadata say, no member makes
//! `recognise` or `assemble` panic, and what comes out keeps its promises. `STRADDLE_MUTATIONS` asks for more of them.

use std::fs;

use straddle_geometry::Bytes;
use straddle_probe::registry;

/// Changes for each seed; the fuzzer makes millions.
const USUAL: u64 = 8;
const BUDGET: Bytes = Bytes::mib(8);
/// What often is a limit.
const EDGES: [u8; 5] = [0, 1, 0x7f, 0x80, 0xff];

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let n = u64::try_from(n.max(1)).expect("small");
        usize::try_from(self.0 % n).expect("small")
    }
}

fn changed(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let Some(byte) = bytes.get_mut(at) else { break };
        *byte = match random.below(3) {
            0 => *byte ^ (1 << random.below(8)),
            1 => EDGES[random.below(EDGES.len())],
            _ => u8::try_from(random.below(256)).expect("a byte"),
        };
    }
    bytes
}

#[test]
fn changed_metadata_make_nothing_that_breaks_a_promise() {
    let asked = std::env::var("STRADDLE_MUTATIONS").ok();
    let times = asked.and_then(|n| n.parse().ok()).unwrap_or(USUAL);
    let corpus = straddle_testkit::repository().join("fuzz/corpus");
    let (mut tried, mut recognised) = (0_u64, 0_u64);
    for format in registry::VOLUMES {
        let mut seeds: Vec<_> = fs::read_dir(corpus.join(format.name))
            .unwrap_or_else(|error| panic!("{}: {error}", format.name))
            .map(|entry| entry.expect("readable").path())
            .collect();
        seeds.sort();
        for path in seeds {
            let seed = fs::read(&path).expect("readable");
            let mut random = Random(0x5851_f42d_4c95_7f2d ^ tried);
            for _ in 0..times {
                let bytes = changed(&seed, &mut random);
                let (parts, _, _) = straddle_testkit::volume::assembled(format, &bytes, BUDGET);
                recognised += u64::from(parts > 0);
                tried += 1;
            }
        }
    }
    assert!(recognised * 4 > tried, "{recognised} of {tried} recognised");
}

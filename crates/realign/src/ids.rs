//! Identities that a container gets: of a file, of its contents, of its last change.

use std::io;

use straddle_io::owned::Token;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Where they come from.
#[derive(Clone, Debug)]
pub struct Ids(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Seed { seed: u64, count: u64 },
}

impl Ids {
    /// Random ones of the system.
    #[must_use]
    pub fn random() -> Ids {
        Ids(Source::System)
    }

    /// The same every time for a seed: tests compare files.
    #[must_use]
    pub fn seeded(seed: u64) -> Ids {
        Ids(Source::Seed { seed, count: 0 })
    }

    /// 128 bits.
    pub(crate) fn bits(&mut self) -> io::Result<[u8; 16]> {
        match &mut self.0 {
            Source::System => {
                let token = Token::random()?.to_string();
                let bits = u128::from_str_radix(&token, 16).map_err(io::Error::other)?;
                Ok(bits.to_ne_bytes())
            }
            Source::Seed { seed, count } => {
                *count += 1;
                Ok(xxh3_128_with_seed(&count.to_le_bytes(), *seed).to_le_bytes())
            }
        }
    }

    /// A UUID of version 4, as its text would be written.
    pub(crate) fn uuid(&mut self) -> io::Result<[u8; 16]> {
        let mut bits = self.bits()?;
        bits[6] = (bits[6] & 0x0f) | 0x40;
        bits[8] = (bits[8] & 0x3f) | 0x80;
        Ok(bits)
    }

    /// The same in the order of a GUID: its first three fields little-endian.
    pub(crate) fn guid(&mut self) -> io::Result<[u8; 16]> {
        Ok(guid(self.uuid()?))
    }
}

/// A UUID with its first three fields the other way round.
pub(crate) const fn guid(uuid: [u8; 16]) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h, rest @ ..] = uuid;
    let [i, j, k, l, m, n, o, p] = rest;
    [d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_differ_and_a_seed_repeats_them() {
        let mut ids = Ids::random();
        assert_ne!(ids.bits().expect("random"), ids.bits().expect("random"));
        let (mut one, mut two) = (Ids::seeded(1), Ids::seeded(1));
        let first = one.uuid().expect("seeded");
        assert_eq!(first, two.uuid().expect("seeded"));
        assert_ne!(first, one.uuid().expect("seeded"));
        assert_eq!((first[6] >> 4, first[8] >> 6), (4, 2));
        assert_eq!(guid(guid(first)), first);
    }
}

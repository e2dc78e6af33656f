//! Random order, from the seed alone.
//!
//! xoshiro256++ (D. Blackman and S. Vigna, 2019), one generator for each purpose, cell and block: what is drawn for one
//! does not depend on how much was drawn for others.

use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

use super::{Plan, Slot};

/// What random numbers are drawn for.
#[derive(Clone, Copy)]
enum Purpose {
    /// The order of candidates in a block.
    Candidates = 1,
    /// The order of cells in a round.
    Round = 2,
    /// The addresses of requests.
    Addresses = 3,
}

/// A generator of its own for this purpose, cell and block.
fn generator(seed: u64, purpose: Purpose, cell: u32, block: u32) -> Xoshiro256PlusPlus {
    // SplitMix64 is a bijection that changes half of all bits on average. The seed goes through it first: next to it
    // unmixed, the small numbers of one seed would be those of its neighbour.
    let mix = |word: u64| SplitMix64::seed_from_u64(word).next_u64();
    let words = [purpose as u64, u64::from(cell), u64::from(block)];
    let state = words
        .iter()
        .fold(mix(seed), |state, word| mix(state ^ word));
    Xoshiro256PlusPlus::seed_from_u64(state)
}

/// Where a cell stands in the round in which it makes this block: the lowest comes first.
pub(super) fn place_in_round(seed: u64, cell: u32, block: u32) -> u64 {
    generator(seed, Purpose::Round, cell, block).next_u64()
}

/// Seeds the addresses of all runs of a block.
pub(super) fn addresses(seed: u64, cell: u32, block: u32) -> u64 {
    generator(seed, Purpose::Addresses, cell, block).next_u64()
}

/// The runs of a block in their order.
pub(super) fn block(plan: &Plan, cell: u32, block: u32) -> Vec<Slot> {
    let offsets = u32::try_from(plan.offsets.len()).unwrap_or(u32::MAX);
    let mut candidates: Vec<u32> = (1..offsets).collect();
    shuffle(
        &mut candidates,
        &mut generator(plan.seed, Purpose::Candidates, cell, block),
    );
    let baselines = std::iter::repeat(0);
    let pairs = baselines.zip(candidates).flat_map(|(a, x)| [a, x]);
    let offsets = pairs.chain([0]);
    (0..)
        .zip(offsets)
        .map(|(position, offset)| Slot {
            cell,
            block,
            position,
            offset,
        })
        .collect()
}

/// Every order equally likely (R. Durstenfeld, Algorithm 235, 1964).
fn shuffle(items: &mut [u32], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        let other = below(last as u64 + 1, random);
        // Not above `last`.
        #[expect(clippy::cast_possible_truncation, reason = "an index into the slice")]
        items.swap(last, other as usize);
    }
}

/// A number from 0 to `bound` − 1, all equally likely. Draws from the incomplete last stretch of 2⁶⁴ are repeated.
fn below(bound: u64, random: &mut Xoshiro256PlusPlus) -> u64 {
    let unfair = (u64::MAX % bound + 1) % bound;
    loop {
        let draw = random.next_u64();
        if draw <= u64::MAX - unfair {
            return draw % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_order_of_candidates_comes_up_equally_often() {
        let plan = plan(1, 4);
        let mut seen: HashMap<Vec<u32>, u32> = HashMap::new();
        for number in 0..6000 {
            let order = block(&plan, 0, number).iter().map(|s| s.offset).collect();
            *seen.entry(order).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        // Chi-squared with 5 degrees of freedom exceeds 20.5 once in a thousand.
        let squares: f64 = seen
            .values()
            .map(|n| (f64::from(*n) - 1000.0).powi(2))
            .sum();
        assert!(squares / 1000.0 < 20.5, "{seen:?}");
    }

    #[test]
    fn a_block_has_the_baseline_around_and_between_all_candidates() {
        let plan = plan(1, 5);
        for number in 0..100 {
            let runs = block(&plan, 3, number);
            assert_eq!(runs.len(), plan.runs_per_block());
            let mut candidates: Vec<u32> =
                runs.iter().skip(1).step_by(2).map(|s| s.offset).collect();
            candidates.sort_unstable();
            assert_eq!(candidates, [1, 2, 3, 4]);
            assert!(runs.iter().step_by(2).all(|slot| slot.offset == 0));
            assert!(
                runs.iter()
                    .zip(0..)
                    .all(|(slot, at)| (slot.cell, slot.block, slot.position) == (3, number, at))
            );
        }
    }

    #[test]
    fn seeds_cells_blocks_and_purposes_are_told_apart() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..10 {
            for cell in 0..10 {
                for number in 0..10 {
                    assert!(seen.insert(place_in_round(seed, cell, number)));
                    assert!(seen.insert(addresses(seed, cell, number)));
                }
            }
        }
    }

    #[test]
    fn the_order_stays_what_it_was_in_earlier_versions() {
        // Journals are resumed by later versions: these figures may not change.
        let order: Vec<u32> = block(&plan(1, 6), 2, 7)
            .iter()
            .skip(1)
            .step_by(2)
            .map(|s| s.offset)
            .collect();
        assert_eq!(order, [2, 4, 1, 3, 5]);
        assert_eq!(addresses(1, 2, 3), 7_094_340_983_202_921_597);
    }
}

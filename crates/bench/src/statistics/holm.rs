//! Many comparisons at once: with twenty of them, one in twenty is "significant at 5%" when there is nothing at all.
//!
//! S. Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of Statistics 6 (1979). The
//! chance of even one false difference among all is held at the level, whatever the comparisons have to do with
//! each other; here they share baselines. Never weaker than Bonferroni's correction.

/// The p-values adjusted for being among so many, in the same order: those below 0.05 are differences at a level of 5%
/// for all together. NaN counts as 1.
#[must_use]
pub fn adjust(p: &[f64]) -> Vec<f64> {
    let known = |p: f64| if p.is_nan() { 1.0 } else { p };
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| known(p[a]).total_cmp(&known(p[b])));
    let mut adjusted = vec![1.0; p.len()];
    let mut floor = 0.0_f64;
    for (rank, &at) in order.iter().enumerate() {
        #[expect(
            clippy::cast_precision_loss,
            reason = "numbers of comparisons are small"
        )]
        let left = (p.len() - rank) as f64;
        floor = floor.max((known(p[at]) * left).min(1.0));
        adjusted[at] = floor;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_example() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02.
        let found = adjust(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-15);
        }
        assert_eq!(adjust(&[]), Vec::<f64>::new());
        assert_eq!(adjust(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }

    proptest! {
        /// Holm's procedure as he wrote it: from the smallest on, reject while p is below level/(number left).
        #[test]
        fn below_the_level_is_what_the_procedure_rejects(
            p in proptest::collection::vec(0.0..0.2_f64, 0..12),
            level in 0.001..0.3_f64,
        ) {
            let mut sorted = p.clone();
            sorted.sort_by(f64::total_cmp);
            let mut rejected = Vec::new();
            for (rank, p) in sorted.iter().enumerate() {
                if *p * (sorted.len() - rank) as f64 > level {
                    break;
                }
                rejected.push(*p);
            }
            let adjusted = adjust(&p);
            for (raw, adjusted) in p.iter().zip(adjusted) {
                prop_assert_eq!(adjusted <= level, rejected.contains(raw));
                prop_assert!(adjusted >= *raw);
            }
        }
    }
}

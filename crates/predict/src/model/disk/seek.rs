//! How long the arm takes: a curve over the distance.

use super::clock::TURN;

/// Time to seek over d cylinders in seconds: `single` for one, a + b·√d + c·d for more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    pub(super) single: f64,
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) c: f64,
}

/// Sums over all seeks of a disk, which there are `cylinders − d` of for each distance d and direction: how many, and of √d
/// and d. By the Euler–Maclaurin formula, whose rest is below a millionth for two cylinders and falls fast.
fn sums(cylinders: f64) -> (f64, f64, f64) {
    const ZETA_OF_MINUS_HALF: f64 = -0.207_886_224_977_354_57;
    const ZETA_OF_MINUS_THREE_HALVES: f64 = -0.025_485_201_889_833_036;
    let most = cylinders - 1.0;
    let root = most.sqrt();
    let roots = ZETA_OF_MINUS_HALF + root * (2.0 / 3.0 * most + 0.5 + 1.0 / (24.0 * most));
    let cubes = ZETA_OF_MINUS_THREE_HALVES
        + root * (most * (0.4 * most + 0.5) + 0.125 + 1.0 / (1920.0 * most * most));
    let count = cylinders * most / 2.0;
    (
        count,
        cylinders * roots - cubes,
        count * (cylinders + 1.0) / 3.0,
    )
}

impl Curve {
    /// The curve whose single-cylinder seek, uniform-random average and full stroke are these. `None` when no curve that
    /// rises all the way goes through them.
    pub(super) fn through(single: f64, average: f64, full: f64, cylinders: u32) -> Option<Curve> {
        let cylinders = f64::from(cylinders);
        let most = cylinders - 1.0;
        let (count, roots, lengths) = sums(cylinders);
        // With a = single − b − c, two equations are left: b·p + c·q = r for the average, b·s + c·t = u for the full stroke.
        let (p, q, r) = (roots / count - 1.0, lengths / count - 1.0, average - single);
        let (s, t, u) = (most.sqrt() - 1.0, most - 1.0, full - single);
        let determinant = p * t - q * s;
        let b = (r * t - q * u) / determinant;
        let c = (p * u - r * s) / determinant;
        let curve = Curve {
            single,
            a: single - b - c,
            b,
            c,
        };
        curve.rises(most).then_some(curve)
    }

    /// True when it rises from one cylinder to `most`.
    pub(super) fn rises(&self, most: f64) -> bool {
        let slope = |d: f64| self.b / (2.0 * d.sqrt()) + self.c;
        slope(1.0) >= 0.0 && slope(most) >= 0.0 && self.at(2.0) >= self.single && self.single > 0.0
    }

    /// Seconds for a seek over so many cylinders, at least one.
    pub(super) fn at(&self, distance: f64) -> f64 {
        if distance < 2.0 {
            self.single
        } else {
            self.a + self.b * distance.sqrt() + self.c * distance
        }
    }

    /// The mean over all seeks.
    pub(super) fn average(&self, cylinders: u32) -> f64 {
        let cylinders = f64::from(cylinders);
        let (count, roots, lengths) = sums(cylinders);
        let first = self.single - self.a - self.b - self.c;
        self.a + (self.b * roots + self.c * lengths + first * (cylinders - 1.0)) / count
    }
}

/// Most revolutions that a seek may take: what is left of a float's whole numbers.
pub(super) const MAX_TURNS: f64 = 7.5;
/// Adding it to a float below leaves the nearest whole number in the lower bits.
const WHOLE: f32 = 8_388_608.0;
/// A seek is computed in 2⁻²⁰ of a revolution, a sixteenth of the steps of an angle.
const COARSE: u32 = 4;

/// The same in steps of a revolution, for the arm and for whoever compares many seeks at once: no branches, no tables.
/// Single precision, whose square roots, products and sums are the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moves {
    single: u32,
    a: f32,
    b: f32,
    c: f32,
    /// Steps of a head switch.
    pub(super) switch: u32,
    /// Steps that a move takes longer before a write.
    pub(super) settle: u32,
}

impl Moves {
    /// Times in seconds; the longest seek takes at most [`MAX_TURNS`].
    pub(super) fn new(curve: Curve, switch: f64, settle: f64, revolution: f64) -> Moves {
        let coarse = f64::from(TURN >> COARSE) / revolution;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a few revolutions at most"
        )]
        let steps = |seconds: f64| libm::ceil(seconds / revolution * f64::from(TURN)) as u32;
        #[expect(clippy::cast_possible_truncation, reason = "seven digits do")]
        let single = |value: f64| (value * coarse) as f32;
        Moves {
            single: steps(curve.single),
            a: single(curve.a),
            b: single(curve.b),
            c: single(curve.c),
            switch: steps(switch),
            settle: steps(settle),
        }
    }

    /// Steps for a move over so many cylinders, to another head or not; `settle` is added to any move.
    #[inline]
    pub(super) fn steps(&self, distance: i32, is_other_head: bool, settle: u32) -> u32 {
        #[expect(clippy::cast_precision_loss, reason = "below 2²⁴ cylinders")]
        let d = distance as f32;
        let curve = self.a + self.b * d.sqrt() + self.c * d;
        let far = ((curve + WHOLE).to_bits() & 0x007f_ffff) << COARSE;
        let here = if is_other_head { self.switch } else { 0 };
        let near = if distance == 1 { self.single } else { here };
        let steps = if distance > 1 { far } else { near };
        if steps > 0 { steps + settle } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mean(curve: Curve, cylinders: u32) -> f64 {
        let weight = |d: u32| f64::from(cylinders - d);
        let sum: f64 = (1..cylinders)
            .map(|d| weight(d) * curve.at(f64::from(d)))
            .sum();
        sum / (1..cylinders).map(weight).sum::<f64>()
    }

    proptest! {
        #[test]
        fn a_curve_goes_through_what_was_published(
            single in 0.2_f64..1.0,
            average in 3.0_f64..9.0,
            times in 1.75_f64..2.1,
            cylinders in 500_u32..20_000,
        ) {
            let full = average * times;
            let Some(curve) = Curve::through(single, average, full, cylinders) else {
                return Ok(());
            };
            prop_assert!((curve.at(f64::from(cylinders - 1)) - full).abs() < 1e-9);
            prop_assert!((curve.average(cylinders) - average).abs() < 1e-9);
            prop_assert!((mean(curve, cylinders) - average).abs() < 1e-6);
            for d in 1..cylinders - 1 {
                prop_assert!(curve.at(f64::from(d)) <= curve.at(f64::from(d + 1)) + 1e-12);
            }
        }

        #[test]
        fn the_mean_is_over_all_seeks(
            (single, a, b, c) in (0.1_f64..1.0, 0.5_f64..3.0, 0.01_f64..0.2, 0.0_f64..1e-3),
            cylinders in 16_u32..3_000,
        ) {
            let curve = Curve { single, a, b, c };
            prop_assert!((curve.average(cylinders) - mean(curve, cylinders)).abs() < 1e-6);
        }

        #[test]
        fn steps_are_the_curve(
            (single, a, b, c) in (0.0001_f64..0.001, 0.0005_f64..0.003, 1e-5_f64..5e-5, 0.0_f64..5e-8),
            distance in 0_i32..100_000,
        ) {
            let curve = Curve { single, a, b, c };
            let moves = Moves::new(curve, 1e-4, 2e-4, 0.006);
            let steps = f64::from(moves.steps(distance, true, moves.settle));
            let seconds = if distance == 0 { 1e-4 } else { curve.at(f64::from(distance)) } + 2e-4;
            let off = steps / f64::from(TURN) * 0.006 - seconds;
            prop_assert!(off.abs() < 2e-8, "{} s off", off);
        }
    }

    #[test]
    fn what_stays_takes_no_time() {
        let curve = Curve::through(0.0002, 0.0034, 0.0066, 100_000).expect("it is a real one");
        let moves = Moves::new(curve, 1e-4, 2e-4, 0.004);
        assert_eq!(moves.steps(0, false, moves.settle), 0);
        assert_eq!(Curve::through(0.005, 0.0034, 0.0066, 100_000), None);
        assert_eq!(Curve::through(0.0002, 0.0034, 0.0035, 100_000), None);
    }
}

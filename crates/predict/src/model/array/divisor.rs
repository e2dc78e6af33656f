//! Division by a number that stays the same: a multiplication and a shift.

/// A divisor of numbers below 2⁶³.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    by: u64,
    /// ⌊2⁶³⁺ˢ / by⌋ + 1, where 2ˢ is the least power of two not below `by`.
    factor: u64,
    shift: u32,
}

impl Divisor {
    /// Zero and what is not below 2⁶³ become the nearest number that is allowed.
    pub(crate) fn new(by: u64) -> Divisor {
        let by = by.clamp(1, (1 << 63) - 1);
        let shift = by.next_power_of_two().trailing_zeros();
        // Below 2⁶⁴, as `by` is above 2ˢ⁻¹.
        let factor = (1_u128 << (63 + shift)) / u128::from(by) + 1;
        Divisor {
            by,
            factor: u64::try_from(factor).unwrap_or(u64::MAX),
            shift,
        }
    }

    pub(crate) fn get(self) -> u64 {
        self.by
    }

    /// Quotient and remainder of a number below 2⁶³.
    ///
    /// With factor·by = 2⁶³⁺ˢ + e and e ≤ by ≤ 2ˢ, the product is off by number·e < 2⁶³⁺ˢ, which is less than what
    /// separates the quotient from the next.
    #[inline]
    pub(crate) fn of(self, number: u64) -> (u64, u64) {
        let product = (u128::from(number) * u128::from(self.factor)) >> 63;
        #[expect(clippy::cast_possible_truncation, reason = "the product is below 2¹²⁷")]
        let quotient = (product as u64) >> self.shift;
        (quotient, number - quotient * self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LARGEST: u64 = (1 << 63) - 1;

    #[test]
    fn it_divides_at_every_edge() {
        let near = |power: u32| {
            let power = 1_u64 << power;
            [power - 1, power, power + 1]
        };
        let edges: Vec<u64> = (0..63)
            .flat_map(near)
            .chain([3, 5, 7, LARGEST - 1, LARGEST])
            .collect();
        for by in edges.iter().filter(|by| **by > 0) {
            for times in edges.iter().filter(|times| **times <= LARGEST / by) {
                let product = by * times;
                for number in [product.saturating_sub(1), product, product + 1] {
                    let number = number.min(LARGEST);
                    assert_eq!(
                        Divisor::new(*by).of(number),
                        (number / by, number % by),
                        "{number} / {by}"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn it_divides(by in 1..=LARGEST, shift in 0_u32..63, number in 0..=LARGEST, less in 0_u32..63) {
            let (by, number) = ((by >> shift).max(1), number >> less);
            prop_assert_eq!(Divisor::new(by).of(number), (number / by, number % by));
        }
    }
}

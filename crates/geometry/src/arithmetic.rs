//! Integer arithmetic shared by the closed forms.

/// The greatest common divisor of two numbers in the same unit: of zero and another, the other. (Stein's binary algorithm.)
///
/// Units in the field are small odd numbers times a power of two, so the loop ends after very few rounds; Euclid's
/// algorithm would pay a division for each of them.
#[inline]
#[must_use]
pub const fn gcd(mut a: u64, mut b: u64) -> u64 {
    if a == 0 {
        return b;
    }
    if b == 0 {
        return a;
    }
    let shift = (a | b).trailing_zeros();
    a >>= a.trailing_zeros();
    b >>= b.trailing_zeros();
    while a != b {
        if a > b {
            a -= b;
            a >>= a.trailing_zeros();
        } else {
            b -= a;
            b >>= b.trailing_zeros();
        }
    }
    a << shift
}

/// The least common multiple of two numbers in the same unit; `None` when it is 2⁶⁴ or more.
#[must_use]
pub const fn lcm(a: u64, b: u64) -> Option<u64> {
    match gcd(a, b) {
        0 => Some(0),
        common => (a / common).checked_mul(b),
    }
}

/// Quotient and remainder; a shift and a mask when the divisor is a power of two.
///
/// A 64-bit division costs more than everything else in a closed form together, and nearly every unit in the field
/// is a power of two.
#[inline]
pub(crate) const fn div_rem(a: u64, b: u64) -> (u64, u64) {
    if b.is_power_of_two() {
        (a >> b.trailing_zeros(), a & (b - 1))
    } else {
        (a / b, a % b)
    }
}

/// Remainder, with the same shortcut as [`div_rem`].
#[inline]
pub(crate) const fn rem(a: u64, b: u64) -> u64 {
    div_rem(a, b).1
}

/// `a × b` modulo `m`.
#[inline]
pub(crate) fn mul_mod(a: u64, b: u64, m: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => rem(product, m),
        // Below m, which fits.
        None => u64::try_from(u128::from(a) * u128::from(b) % u128::from(m)).unwrap_or(0),
    }
}

/// The inverse of `a` modulo `m`, for coprime `a` < `m`, 1 ≤ `m` ≤ 2⁶²; in `0..m`.
pub(crate) fn inverse_mod(a: u64, m: u64) -> u64 {
    // The extended Euclidean algorithm. Coefficients stay at or below m in absolute value, so they fit in an i64; 128
    // bits would cost a function call for every division.
    let (mut old_r, mut r) = (a, m);
    let (mut old_s, mut s) = (1_i64, 0_i64);
    while r != 0 {
        let q = old_r / r;
        (old_r, r) = (r, old_r - q * r);
        (old_s, s) = (s, old_s - q.cast_signed() * s);
    }
    // Above −m by construction.
    let inverse = if old_s < 0 {
        m - old_s.unsigned_abs()
    } else {
        old_s.unsigned_abs()
    };
    rem(inverse, m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gcd_is_the_largest_common_divisor(a in 1_u64..2_000, b in 1_u64..2_000) {
            let brute = (1..=a.min(b)).rev().find(|d| a % d == 0 && b % d == 0);
            prop_assert_eq!(Some(gcd(a, b)), brute);
        }

        #[test]
        fn lcm_is_the_smallest_common_multiple(a in 1_u64..200, b in 1_u64..200) {
            let brute = (1..=a * b).find(|m| m % a == 0 && m % b == 0);
            prop_assert_eq!(lcm(a, b), brute);
        }

        #[test]
        fn div_rem_is_division(a: u64, b in 1_u64.., shift in 0_u32..64) {
            prop_assert_eq!(div_rem(a, b), (a / b, a % b));
            let power = 1_u64 << shift;
            prop_assert_eq!(div_rem(a, power), (a / power, a % power));
        }

        #[test]
        fn inverse_times_number_is_one(a in 1_u64..100_000, m in 2_u64..100_000) {
            prop_assume!(gcd(a, m) == 1);
            let inverse = inverse_mod(a, m);
            prop_assert!(inverse < m);
            prop_assert_eq!(u128::from(a) * u128::from(inverse) % u128::from(m), 1);
        }
    }

    #[test]
    fn gcd_with_zero_is_the_other_number() {
        assert_eq!(gcd(0, 12), 12);
        assert_eq!(gcd(12, 0), 12);
        assert_eq!(gcd(0, 0), 0);
    }

    #[test]
    fn lcm_is_never_a_wrong_number() {
        assert_eq!(lcm(0, 12), Some(0));
        assert_eq!(lcm(0, 0), Some(0));
        assert_eq!(lcm(u64::MAX, u64::MAX), Some(u64::MAX));
        assert_eq!(lcm(1 << 63, 3), None);
    }

    #[test]
    fn everything_is_congruent_modulo_one() {
        assert_eq!(inverse_mod(5, 1), 0);
    }
}

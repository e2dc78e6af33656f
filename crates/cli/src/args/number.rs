//! A number and its unit, as they are typed, or copied from what was printed: `64K`, `31.5 KiB`, `1,028 KiB`, `2.4TB`.

/// An exact decimal number, and the word behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Typed<'a> {
    digits: u128,
    /// How many of the digits stand behind the point.
    decimals: u32,
    /// The number, as it was typed.
    pub(super) number: &'a str,
    /// The unit; empty where there is none.
    pub(super) unit: &'a str,
}

/// More digits behind the point than this never make a whole number of anything that is asked for.
const MAX_DECIMALS: usize = 12;

impl<'a> Typed<'a> {
    /// Reads a number and a unit; `None` where it does not begin with a number.
    pub(super) fn read(text: &'a str) -> Option<Typed<'a>> {
        let text = text.trim();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '_'))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if !is_grouped(whole) || !is_plain(fraction) || fraction.len() > MAX_DECIMALS {
            return None;
        }
        let digits: String = whole
            .chars()
            .chain(fraction.chars())
            .filter(char::is_ascii_digit)
            .collect();
        Some(Typed {
            digits: digits.parse().ok()?,
            decimals: u32::try_from(fraction.len()).ok()?,
            number,
            unit: unit.trim(),
        })
    }

    /// The number times `factor`, without what is left of a whole one, and whether nothing was left; `None` where it is too large.
    pub(super) fn times(self, factor: u128) -> Option<(u128, bool)> {
        let scale = 10_u128.checked_pow(self.decimals)?;
        let scaled = self.digits.checked_mul(factor)?;
        Some((scaled / scale, scaled.is_multiple_of(scale)))
    }

    /// The number, where it is whole and fits.
    pub(super) fn whole(self) -> Option<u64> {
        let (number, is_whole) = self.times(1)?;
        u64::try_from(number).ok().filter(|_| is_whole)
    }

    /// The nearest floating-point number.
    pub(super) fn float(self) -> f64 {
        let plain: String = self
            .number
            .chars()
            .filter(|c| !matches!(c, ',' | '_'))
            .collect();
        plain.parse().unwrap_or(f64::INFINITY)
    }
}

/// Digits, perhaps in groups of three: `1,028` but not `1,5`, which is one and a half to half of the world.
fn is_grouped(whole: &str) -> bool {
    let mut groups = whole.split([',', '_']);
    let is_first =
        |first: &str| !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    groups.next().is_some_and(is_first)
        && groups.all(|group| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn either(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_and_grouped_by_three() {
        let read = |text| Typed::read(text).map(|typed| (typed.times(1024), typed.unit));
        assert_eq!(read("31.5K"), Some((Some((32_256, true)), "K")));
        assert_eq!(read("1,028 KiB"), Some((Some((1_052_672, true)), "KiB")));
        assert_eq!(read("0.3K"), Some((Some((307, false)), "K")));
        assert_eq!(read("12"), Some((Some((12_288, true)), "")));
        for text in ["", "K", "-1", "1.2.3K", "1,5G", "1,0000", ",1", ".5"] {
            assert_eq!(read(text), None, "{text}");
        }
        let huge = "9".repeat(60);
        assert_eq!(Typed::read(&huge), None);
        assert_eq!(Typed::read("1.5").and_then(Typed::whole), None);
        assert_eq!(Typed::read("1_000").and_then(Typed::whole), Some(1000));
    }

    #[test]
    fn lists_end_with_or() {
        let parts = |n: usize| -> Vec<String> {
            ["a", "b", "c"]
                .iter()
                .take(n)
                .map(ToString::to_string)
                .collect()
        };
        let said = [0, 1, 2, 3].map(|n| either(&parts(n)));
        assert_eq!(said, ["", "a", "a or b", "a, b or c"]);
    }
}

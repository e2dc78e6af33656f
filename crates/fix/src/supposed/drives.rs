//! Drives whose physical sector is known from their model, whatever a system before them can say.
//!
//! Only models of which a manual, or a list that others maintain, gives the sector are here. Most are not: a drive that is
//! missing is asked for its sector, not guessed.

use straddle_geometry::{Bytes, Unit};

/// Models that are alike, and what they rewrite as a whole.
struct Models {
    /// A word of the model; `#` stands for digits, and what follows the pattern does not matter.
    patterns: &'static [&'static str],
    /// Physical sector, in bytes.
    sector: u64,
    /// Who says so.
    source: &'static str,
}

/// Seagate's product manuals list each model as 512n, 512e or 4Kn.
const MODELS: &[Models] = &[
    Models {
        patterns: &["ST#MP0004", "ST#MP0014", "ST#MP0024", "ST#MP0094"],
        sector: 512,
        source: "Seagate product manual 100721324: 512 native",
    },
    Models {
        patterns: &["ST#MP0034", "ST#MP0044", "ST#MP0054", "ST#MP0104"],
        sector: 4096,
        source: "Seagate product manual 100721324: 512 emulation",
    },
    Models {
        patterns: &["ST#MP0005", "ST#MP0015", "ST#MP0025"],
        sector: 512,
        source: "Seagate product manual 100748152: 512 native",
    },
    Models {
        patterns: &["ST#MP0035", "ST#MP0045", "ST#MP0055"],
        sector: 4096,
        source: "Seagate product manual 100748152: 512 emulation",
    },
    // These answer 512 although they have 4,096: which is why ZFS has a list of them.
    Models {
        patterns: &["WD#EARS", "HD204UI", "HDS5C303#", "ST2000DL004"],
        sector: 4096,
        source: "OpenZFS's list of drives that report another sector than they have",
    },
];

/// The physical sector of a drive of this model, and who says so; `None` for one that is not known.
pub(super) fn sector_of(model: &str) -> Option<(Unit, &'static str)> {
    let model = model.to_ascii_uppercase();
    let words = || model.split(|c: char| !c.is_ascii_alphanumeric());
    let known = MODELS.iter().find(|models| {
        let mut patterns = models.patterns.iter();
        patterns.any(|pattern| words().any(|word| matches(pattern, word)))
    })?;
    let unit = Unit::try_from(Bytes::new(known.sector)).ok()?;
    Some((unit, known.source))
}

/// Whether a word begins as the pattern says.
fn matches(pattern: &str, word: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('#') else {
        return word.starts_with(pattern);
    };
    let Some(rest) = word.strip_prefix(head) else {
        return false;
    };
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    after.len() < rest.len() && after.starts_with(tail)
}

#[cfg(test)]
mod tests {
    use super::sector_of;

    #[test]
    fn models_are_known_by_their_manuals_and_no_other_is() {
        let cases = [
            ("SEAGATE ST600MP0005", Some(512)),
            ("ST450MP0024", Some(512)),
            ("SEAGATE  ST300MP0034 VT31", Some(4096)),
            ("st600mp0055", Some(4096)),
            ("WDC WD20EARS-00S8B1", Some(4096)),
            ("SAMSUNG HD204UI ATA Device", Some(4096)),
            ("Hitachi HDS5C3030ALA630", Some(4096)),
            ("WDC WD20EADS-00R6B0", None),
            ("SEAGATE ST600MM0006", None),
            ("HP LOGICAL VOLUME SCSI Disk Device", None),
            ("STMP0005", None),
            ("", None),
        ];
        for (model, sector) in cases {
            let found = sector_of(model).map(|(unit, _)| unit.get());
            assert_eq!(found, sector, "{model}");
        }
    }
}

//! The studies that come with the program: a line each.

use super::Study;
use crate::profile::Refusal;
use crate::profile::registry::{one_of, unknown};

macro_rules! studies {
    ($($test:ident $name:literal),* $(,)?) => {
        /// Name and text of every study.
        pub const STUDIES: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../../studies/", $name, ".toml")))),*
        ];

        /// Every cell within its tolerance or known to be missed, a test for each study.
        #[cfg(test)]
        mod studies {
            $(#[test]
            fn $test() {
                super::tests::holds($name);
            })*
        }
    };
}

// The name of its test, the name of its file.
studies![
    fixed_service "fixed-service",
    n3_wd_advanced_format "n3-wd-advanced-format",
    n4_wd_green_osync "n4-wd-green-osync",
    n13_raid1_control "n13-raid1-control",
    f20 "s5-f20",
    ssdaligntest "n17-ssdaligntest",
    flashbench "n18-flashbench",
    i4i "n21-i4i",
    md_bitmap "n22-md-bitmap",
    s1_eva8100 "s1-eva8100",
    s2_san_lun "s2-san-lun",
    n23_md_raid5 "n23-md-raid5",
    n26_md_granule "n26-md-granule",
    n29_four_nvme "n29-four-nvme",
    s4_geometry "s4-geometry",
    s3_perc_raid10 "s3-perc-raid10",
    s4_msa60 "s4-msa60",
    n34_raid10_sysbench "n34-raid10-sysbench",
];

/// All names, for a message.
#[must_use]
pub fn names() -> String {
    let names: Vec<&str> = STUDIES.iter().map(|(name, _)| known_as(name)).collect();
    names.join(", ")
}

/// What people know a study by: its name without the number of its source, `eva8100` for `s1-eva8100`.
///
/// Archives have the whole name, which goes on being understood.
#[must_use]
pub fn known_as(name: &str) -> &str {
    let is_number = |source: &str| {
        let digits = source.strip_prefix(['n', 's']).unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match name.split_once('-') {
        Some((source, rest)) if is_number(source) => rest,
        _ => name,
    }
}

/// The study of that name, with or without the number of its source, or of the only one that has it as a part.
///
/// # Errors
/// There is none, there are several, or it is wrong.
pub fn load(name: &str) -> Result<Study, Refusal> {
    let whole: Vec<&'static str> = STUDIES.iter().map(|(name, _)| *name).collect();
    let known = one_of(name, &whole, known_as).map_err(|found| {
        let found: Vec<&str> = found.into_iter().map(known_as).collect();
        unknown("the study", name, &found, names())
    })?;
    let text = STUDIES.iter().find(|(name, _)| *name == known);
    let (name, text) = text.ok_or_else(|| Refusal::new("the study", name, names()))?;
    Study::read(name, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Mark, effort};

    #[test]
    fn studies_are_known_by_their_names_and_by_parts_of_them() {
        let names: Vec<&str> = STUDIES.iter().map(|(name, _)| known_as(name)).collect();
        for (name, _) in STUDIES {
            for asked in [*name, known_as(name)] {
                assert_eq!(load(asked).expect("one of ours").name, *name);
            }
            let same = names.iter().filter(|other| **other == known_as(name));
            assert_eq!(same.count(), 1, "{name}");
        }
        for (asked, name) in [
            ("eva8100", "s1-eva8100"),
            ("eva", "s1-eva8100"),
            ("msa60", "s4-msa60"),
            ("f20", "s5-f20"),
            ("bitmap", "n22-md-bitmap"),
            ("perc", "s3-perc-raid10"),
        ] {
            assert_eq!(load(asked).expect("one of ours").name, name, "{asked}");
        }
        assert_eq!(
            load("wd").expect_err("several").to_string(),
            "the study is wd, which is a part of several names; expected one of wd-advanced-format, wd-green-osync"
        );
        let none = load("nobody").expect_err("there is none").to_string();
        assert!(
            none.starts_with("the study is nobody; expected fixed-service, "),
            "{none}"
        );
        assert_eq!(known_as("n-way"), "n-way");
        assert_eq!(known_as("mine"), "mine");
    }

    /// Every cell lies within its tolerance, or says why it does not.
    pub(super) fn holds(name: &str) {
        let study = load(name).unwrap_or_else(|refusal| panic!("{refusal}"));
        let run = study
            .run(effort::quick(&study))
            .unwrap_or_else(|refusal| panic!("{refusal}"));
        let mut wrong = String::new();
        for (cell, simulated) in study.cells.iter().zip(&run.cells) {
            let line = format!(
                "{}: published {}, simulated {} ({:+.2}%, within {})\n",
                cell.id,
                cell.published.said(|number| number.to_string()),
                simulated.value,
                simulated.error,
                cell.band
            );
            // Validation is archived from longer runs: here, only what is clearly in or out of its band counts.
            let holds = |by| cell.band.holds_widened(cell.published, simulated.value, by);
            let (is_in, is_out) = match cell.mark {
                // Few replicates: what is out by less than they differ is not known to be.
                Mark::Calibration => {
                    let ends = simulated
                        .interval
                        .map_or([simulated.value; 2], |i| [i.low, i.high]);
                    let is_near = ends.iter().any(|end| cell.band.holds(cell.published, *end));
                    (simulated.is_within, !simulated.is_within && !is_near)
                }
                Mark::Validation => (holds(0.7), !holds(1.3)),
            };
            match &cell.misses {
                None if is_out => wrong += &line,
                Some(_) if is_in => wrong += &format!("no longer missed: {line}"),
                _ => {}
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    }

    #[test]
    fn every_study_can_be_simulated() {
        for (name, _) in STUDIES {
            let study = load(name).unwrap_or_else(|refusal| panic!("{refusal}"));
            for cell in &study.cells {
                let profile = study
                    .scenario(cell)
                    .and_then(|scenario| scenario.profile.complete());
                profile
                    .and_then(|profile| crate::system::check(&profile))
                    .unwrap_or_else(|refusal| panic!("{}: {refusal}", cell.id));
            }
        }
    }

    #[test]
    fn every_file_is_in_the_table() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("there are studies")
            .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
            .collect();
        files.sort();
        let mut names: Vec<&str> = STUDIES.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        assert_eq!(files, names);
    }

    #[test]
    fn cells_of_all_studies_have_names_of_their_own() {
        let mut ids: Vec<String> = Vec::new();
        for (name, _) in STUDIES {
            let study = load(name).unwrap_or_else(|refusal| panic!("{refusal}"));
            ids.extend(study.cells.into_iter().map(|cell| cell.id));
        }
        ids.sort_unstable();
        let all = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }
}

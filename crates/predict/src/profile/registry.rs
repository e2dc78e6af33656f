//! The profiles that come with the program: a line each.

use super::{Profile, Refusal};

macro_rules! profiles {
    ($($name:literal),* $(,)?) => {
        /// Name and text of every profile.
        pub const PROFILES: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../../profiles/", $name, ".toml")))),*
        ];
    };
}

profiles![
    "san-lun",
    "raid-adapter-cached",
    "raid-adapter",
    "md-hdd",
    "aws-gp3",
    "aws-io2",
    "azure-premium-v2",
    "gcp-pd-balanced",
    "fixed-service",
    "cheetah-15k7",
    "ultrastar-15k450-450",
    "ultrastar-15k450-300",
    "ultrastar-c15k600",
    "atlas-15k-ii",
    "raptor-wd740gd",
    "barracuda-es2",
    "ultrastar-7k4000",
    "ultrastar-hc310-512e",
    "ultrastar-hc310-4kn",
    "deskstar-7k1000c",
    "travelstar-5k320",
    "wd-green-2tb",
    "atlas-10k-v",
    "atlas-10k",
    "atlas-iii",
    "cheetah-9lp",
    "cheetah-4lp",
    "barracuda-4",
    "ibm-18es",
    "hp-97560",
    "slc-2008",
    "disksim-ssd",
    "mqsim",
    "f20",
    "ssd-2012",
    "sata-tlc",
    "nvme-tlc",
    "qlc-16k",
    "qlc-64k",
    "sd-card",
    "aws-i4i",
    "md-raid10-nvme",
    "eva8100",
    "md-raid0-p4510",
    "md-raid5-8",
    "md-raid5-ssd-4",
    "msa60-p800",
    "perc5e-raid10",
    "raid10-600gb",
];

/// Profiles of no particular device or array: what those have in common whose makers are not listed.
pub const GENERIC: &[&str] = &[
    "san-lun",
    "raid-adapter-cached",
    "raid-adapter",
    "md-hdd",
    "sata-tlc",
    "nvme-tlc",
    "qlc-16k",
    "qlc-64k",
    "aws-gp3",
    "aws-io2",
    "azure-premium-v2",
    "gcp-pd-balanced",
];

/// The text of a profile.
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    let found = PROFILES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// All names, for a message.
#[must_use]
pub fn names() -> String {
    let names: Vec<&str> = PROFILES.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// Devices of which there is no profile on purpose, and why.
pub const REFUSED: &[(&str, &str)] = &[(
    "smr-drive-managed",
    "a conventional disk: what one that shingles its tracks does with a random write depends on a media cache and on cleaning that no maker describes",
)];

/// The profile of that name.
///
/// # Errors
/// There is none, or it is wrong.
pub fn load(name: &str) -> Result<Profile, Refusal> {
    if let Some((name, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(Refusal::new("the profile", name, why));
    }
    let text = text(name).ok_or_else(|| Refusal::new("the profile", name, names()))?;
    Profile::read(name, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_complete_and_can_be_built() {
        for (name, _) in PROFILES {
            let profile = load(name).and_then(|profile| profile.complete());
            profile
                .and_then(|profile| crate::system::check(&profile))
                .unwrap_or_else(|refusal| panic!("{refusal}"));
        }
    }

    #[test]
    fn every_assumption_of_a_generic_profile_has_a_range_or_no_effect() {
        for name in GENERIC {
            let text = text(name).unwrap_or_else(|| panic!("{name} is listed"));
            for line in text.lines().filter(|line| line.contains("assumed = ")) {
                let is_open = line.contains("range = [") || line.contains("no effect");
                assert!(is_open, "{name}: {line}");
            }
        }
    }

    #[test]
    fn every_file_is_in_the_table() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("there are profiles")
            .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
            .collect();
        files.sort();
        let mut names: Vec<&str> = PROFILES.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        assert_eq!(files, names);
    }
}

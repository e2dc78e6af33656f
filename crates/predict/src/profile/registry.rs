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

/// The name of a profile, from that name, a part of it that no other has, or what people say instead: `15k`, `seagate`.
///
/// # Errors
/// All that it may be; none where there is no such profile.
pub fn find(asked: &str) -> Result<&'static str, Vec<&'static str>> {
    among(asked, |_| true)
}

/// The same among single disks and SSDs, of which arrays are made; the whole name of any profile is that one.
///
/// # Errors
/// All that it may be; none where there is no such profile.
pub fn find_device(asked: &str) -> Result<&'static str, Vec<&'static str>> {
    among(asked, Profile::is_single)
}

fn among(
    asked: &str,
    is_meant: impl Fn(&Profile) -> bool,
) -> Result<&'static str, Vec<&'static str>> {
    let asked = asked.trim().to_lowercase();
    if let Some((name, _)) = PROFILES.iter().find(|(name, _)| *name == asked) {
        return Ok(name);
    }
    let read = |(name, text): &(&'static str, &str)| Some((*name, Profile::read(name, text).ok()?));
    let mut profiles: Vec<(&str, Profile)> = PROFILES.iter().filter_map(read).collect();
    profiles.retain(|(_, profile)| is_meant(profile));
    let only = |found: Vec<&'static str>| match found.as_slice() {
        [one] => Ok(*one),
        _ => Err(found),
    };
    let that = |is_it: &dyn Fn(&str, &Profile) -> bool| -> Vec<&'static str> {
        let found = profiles
            .iter()
            .filter(|(name, profile)| is_it(name, profile));
        found.map(|(name, _)| *name).collect()
    };
    // Before the names: in some it stands by chance.
    if let Some(speed) = speed(&asked) {
        return only(that(&|_, profile| {
            profile.is_single() && profile.rotation() == Some(speed)
        }));
    }
    let names = that(&|_, _| true);
    one_of(&asked, &names, |name| name).or_else(|found| {
        // With hyphens it is a name, and a name that is none is a mistake.
        let words: Vec<&str> = asked.split(' ').collect();
        let is_told = |profile: &Profile| {
            let title = profile.title.to_lowercase();
            let told: Vec<&str> = title.split([' ', ',', '(', ')']).collect();
            asked.len() > 1 && words.iter().all(|word| told.contains(word))
        };
        only(that(&|name, profile| {
            found.contains(&name) || is_told(profile)
        }))
    })
}

/// How fast a disk turns, in revolutions a minute, as people say it: `15k`, `7.2k`, `7200`, `10,000 rpm`.
fn speed(asked: &str) -> Option<f64> {
    let text: String = asked.chars().filter(|c| !" ,'-".contains(*c)).collect();
    let text = text.strip_suffix("rpm").unwrap_or(&text);
    let number = match text.strip_suffix('k') {
        Some(thousands) => thousands.parse::<f64>().ok()? * 1000.0,
        None => text.parse().ok()?,
    };
    (1000.0..100_000.0)
        .contains(&number)
        .then(|| number.round())
}

/// The one of several names that is meant: the whole name, what people know it by, or a part that no other name has.
///
/// # Errors
/// All names that have this part; none where there is no such name.
pub(crate) fn one_of(
    asked: &str,
    names: &[&'static str],
    known_as: impl Fn(&'static str) -> &'static str,
) -> Result<&'static str, Vec<&'static str>> {
    let asked = asked.trim().to_lowercase();
    let whole = |name: &&&'static str| **name == asked || known_as(name) == asked;
    if let Some(name) = names.iter().find(whole) {
        return Ok(name);
    }
    // A single letter is in some name by chance.
    let has = |name: &&str| asked.len() > 1 && name.contains(&asked);
    let found: Vec<&str> = names.iter().copied().filter(has).collect();
    // `sd` is a word of sd-card, and a part of ssd-2012.
    let is_word = |name: &&&str| format!("-{name}-").contains(&format!("-{asked}-"));
    let words: Vec<&str> = found.iter().filter(is_word).copied().collect();
    match (found.as_slice(), words.as_slice()) {
        ([one], _) | (_, [one]) => Ok(*one),
        _ => Err(found),
    }
}

/// The refusal of a name that is none, or a part of several.
pub(crate) fn unknown(what: &str, asked: &str, found: &[&str], all: String) -> Refusal {
    match found {
        [] => Refusal::new(what, asked, all),
        several => Refusal::new(
            what,
            format!("{asked}, which is a part of several names"),
            format!("one of {}", several.join(", ")),
        ),
    }
}

/// The profile of that name, or of the only one that has it as a part.
///
/// # Errors
/// There is none, there are several, or it is wrong.
pub fn load(name: &str) -> Result<Profile, Refusal> {
    if let Some((name, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(Refusal::new("the profile", name, why));
    }
    let known = find(name).map_err(|found| unknown("the profile", name, &found, names()))?;
    let text = text(known).ok_or_else(|| Refusal::new("the profile", name, names()))?;
    Profile::read(known, text)
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
    fn a_part_that_no_other_name_has_is_enough() {
        for (asked, name) in [
            ("eva8100", "eva8100"),
            ("msa60", "msa60-p800"),
            ("MSA60", "msa60-p800"),
            ("i4i", "aws-i4i"),
            ("perc5e", "perc5e-raid10"),
            ("raid-adapter", "raid-adapter"),
            ("atlas-10k", "atlas-10k"),
            ("sd", "sd-card"),
        ] {
            assert_eq!(find(asked), Ok(name), "{asked}");
            assert_eq!(load(asked).expect("one of ours").name, name);
        }
        assert_eq!(find("nobody"), Err(vec![]));
        assert_eq!(find("eva"), Ok("eva8100"));
        assert_eq!(find_device("eva"), Err(vec![]), "an array");
        assert_eq!(find(""), Err(vec![]));
        assert_eq!(find("f"), Err(vec![]), "a letter is no name");
        assert_eq!(
            find("atlas"),
            Err(vec![
                "atlas-15k-ii",
                "atlas-10k-v",
                "atlas-10k",
                "atlas-iii"
            ])
        );
        assert_eq!(
            load("atlas").expect_err("several").to_string(),
            "the profile is atlas, which is a part of several names; expected one of atlas-15k-ii, atlas-10k-v, atlas-10k, atlas-iii"
        );
    }

    /// None of them is a drive of 2004 because its name has the word.
    #[test]
    fn what_people_say_instead_of_a_name() {
        let slow = [
            "barracuda-es2",
            "ultrastar-7k4000",
            "ultrastar-hc310-512e",
            "ultrastar-hc310-4kn",
            "deskstar-7k1000c",
        ];
        for asked in ["7200", "7.2k", "7200rpm", "7,200 RPM"] {
            let found = find_device(asked).expect_err("several");
            assert!(slow.iter().all(|name| found.contains(name)), "{found:?}");
            assert!(!found.contains(&"cheetah-15k7"), "{found:?}");
        }
        let fast = vec![
            "cheetah-15k7",
            "ultrastar-15k450-450",
            "ultrastar-15k450-300",
            "ultrastar-c15k600",
            "atlas-15k-ii",
        ];
        assert_eq!(find_device("15k"), Err(fast.clone()));
        assert_eq!(find("15K rpm"), Err(fast));
        assert_eq!(find_device("5400"), find("5400rpm"));
        assert_eq!(find_device("nvme"), Ok("nvme-tlc"));
        assert_eq!(find_device("15k7"), Ok("cheetah-15k7"));
        assert_eq!(find_device("travelstar"), Ok("travelstar-5k320"));
        assert_eq!(
            find_device("Cheetah Seagate"),
            Err(vec!["cheetah-15k7", "cheetah-9lp", "cheetah-4lp"])
        );
        assert_eq!(find_device("quantum"), Err(vec!["atlas-10k", "atlas-iii"]));
        assert_eq!(find("30000000"), Err(vec![]));
        assert_eq!(find("fixed-time"), Err(vec![]), "not its title's words");
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

//! An array that one knows, made of the profile of its disks: `--disk cheetah-15k7 --raid 5 --disks 8`.

use straddle_geometry::Unit;

use crate::model;
use crate::profile::{Origin, Profile, Range, Refusal, Value, level, registry};

/// Fewest members of a level, and the number that they come in. Below, an array is another one or none.
const MIN: &[(&str, u64, u64)] = &[
    ("raid0", 2, 1),
    ("raid1", 2, 1),
    ("raid10", 2, 1),
    ("raid01", 4, 2),
    ("raid4", 3, 1),
    ("raid5", 3, 1),
    ("raid6", 4, 1),
    ("raid50", 6, 2),
    ("raid60", 8, 2),
    ("vraid1", 2, 1),
    ("vraid5", 5, 1),
];

/// What an array is made of.
#[derive(Clone, Debug)]
pub struct Array {
    /// The level, as people say it.
    pub level: String,
    /// Members.
    pub members: u64,
    /// Bytes on one member before the next takes over; a usual setting where nobody says.
    pub stripe_unit: Option<Unit>,
    /// Write-back cache of the adapter; without it, the adapter is that of the host and takes no time.
    pub cache: Option<Unit>,
}

/// The profile of a generic adapter, for what a cache brings with it besides its size.
const ADAPTER: &str = "raid-adapter-cached";
/// Stripe units where nobody says: the usual one, and what adapters offer.
const STRIPE_UNIT: (f64, f64, f64) = (65_536.0, 16_384.0, 1_048_576.0);

/// An array of some disks.
///
/// # Errors
/// A profile that is not of a single device, a level that is none, or too few members for it.
pub fn compose(disk: Profile, array: &Array) -> Result<Profile, Refusal> {
    if let Some(section) = disk.section_of_several() {
        let found = format!("{}, which has [{section}]", disk.name);
        return Err(Refusal::new(
            "--disk",
            found,
            "the profile of a single disk or SSD",
        ));
    }
    let level = level(&array.level);
    let name = format!("{level} of {} {}", array.members, disk.name);
    let title = format!("{}: {}", said(&level, array.members), disk.title);
    let flag = |profile: Profile, path: &str, value: toml::Value| {
        profile
            .with(path, &value, Origin::Flag)
            .map_err(|refusal| refusal.of("the array"))
    };
    let whole = |n: u64| toml::Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
    let mut profile = flag(disk, "array.level", level.clone().into())?;
    profile = flag(profile, "array.members", whole(array.members))?;
    profile = match array.stripe_unit {
        Some(unit) => flag(profile, "array.stripe_unit", whole(unit.get()))?,
        None if matches!(level.as_str(), "single" | "linear" | "raid1") => profile,
        None => {
            let (usual, least, most) = STRIPE_UNIT;
            let why = "adapters offer 16 KiB to 1 MiB, of which 64 KiB is the usual setting: say yours with --stripe-unit";
            let assumed = Origin::Assumed(why.to_owned());
            let path = "array.stripe_unit";
            profile
                .with(path, &toml::Value::Float(usual), assumed)?
                .ranged(path, Range::Numbers(least, most))
        }
    };
    if matches!(level.as_str(), "raid50" | "raid60") {
        let why = "two sets of parity, as adapters make them unless told otherwise: say yours with --set array.spans=N";
        profile = profile.with("array.spans", &whole(2), Origin::Assumed(why.to_owned()))?;
    }
    if let Some(size) = array.cache {
        let adapter = registry::load(ADAPTER)?;
        profile = profile.with_sections(&adapter, &["controller", "cache"]);
        profile = flag(profile, "cache.size", whole(size.get()))?;
    }
    profile.name = name;
    profile.title = title;
    profile.summary =
        "Composed of the profile of its disks and of what was said of the array.".to_owned();
    possible(&profile)?;
    Ok(profile)
}

/// `RAID 5 of 8 disks`.
fn said(level: &str, members: u64) -> String {
    match level.strip_prefix("raid") {
        Some(number) => format!("RAID {number} of {members} disks"),
        None => format!("{level}, {members} disks"),
    }
}

/// Refuses an array that nobody can build: RAID 5 of two disks, RAID 60 of seven.
///
/// # Errors
/// Its number of members.
pub fn possible(profile: &Profile) -> Result<(), Refusal> {
    let figure = |name: &str| {
        let mut figures = profile.figures();
        let found = figures.find(|(model, key, _)| (model.section, key.name) == ("array", name));
        found.map(|(_, _, figure)| figure.value.clone())
    };
    let has = |section| {
        profile
            .sections()
            .any(|(model, _)| model.section == section)
    };
    let by = match figure("by") {
        Some(Value::Word(by)) => by,
        _ => "",
    };
    let by_adapter = model::array::is_adapter(by, has);
    let (Some(Value::Word(level)), Some(Value::Number(members))) =
        (figure("level"), figure("members"))
    else {
        return Ok(());
    };
    let Some((_, fewest, of)) = MIN.iter().find(|(known, ..)| *known == level) else {
        return Ok(());
    };
    // md lays copies out over any number of members; adapters know pairs.
    let of = if level == "raid10" && by_adapter {
        &2
    } else {
        of
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "members are a whole number from 1 to 4096"
    )]
    let members = members as u64;
    let refuse = |expected: String| Refusal::new("array.members", members, expected);
    match () {
        () if members < *fewest => Err(refuse(format!("at least {fewest} members in {level}"))),
        () if !members.is_multiple_of(*of) => {
            Err(refuse(format!("a multiple of {of} members in {level}")))
        }
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_as_people_say_them() {
        for (said, level_is) in [
            ("5", "raid5"),
            ("raid5", "raid5"),
            ("RAID-5", "raid5"),
            ("R5", "raid5"),
            ("r10", "raid10"),
            ("RAID 10", "raid10"),
            ("1+0", "raid10"),
            ("0+1", "raid01"),
            ("50", "raid50"),
            ("mirror", "raid1"),
            ("JBOD", "single"),
            ("vraid1", "vraid1"),
            ("7", "7"),
        ] {
            assert_eq!(level(said), level_is, "{said}");
        }
    }

    fn array(level: &str, members: u64) -> Array {
        Array {
            level: level.to_owned(),
            members,
            stripe_unit: None,
            cache: None,
        }
    }

    fn composed(disk: &str, array: &Array) -> Result<Profile, Refusal> {
        compose(registry::load(disk).expect("it is one of ours"), array)
    }

    #[test]
    fn an_array_is_made_of_its_disks_and_what_was_said() {
        let profile = composed("cheetah-15k7", &array("1+0", 8)).expect("it can be built");
        assert_eq!(profile.name, "raid10 of 8 cheetah-15k7");
        let complete = profile.complete().expect("it is complete");
        crate::system::check(&complete).expect("it can be simulated");
        // Half of eight disks of 450 GB, in whole stripe units.
        let capacity = crate::system::capacity(&complete).expect("it is one");
        assert!(
            (1_799_999_000_000..=1_800_000_000_000).contains(&capacity),
            "{capacity}"
        );
        let cached = Array {
            cache: Unit::new(512 << 20),
            stripe_unit: Unit::new(256 << 10),
            ..array("50", 12)
        };
        let complete = composed("cheetah-15k7", &cached).and_then(|p| p.complete());
        let complete = complete.expect("it is complete");
        crate::system::check(&complete).expect("it can be simulated");
        let value = |section: &str, name: &str| {
            let mut figures = complete.figures();
            let found = figures.find(|(m, k, _)| (m.section, k.name) == (section, name));
            found.map(|(_, _, figure)| figure.value.clone())
        };
        assert_eq!(value("cache", "size"), Some(Value::Number(536_870_912.0)));
        assert_eq!(value("cache", "write"), Some(Value::Word("back")));
        assert_eq!(value("array", "spans"), Some(Value::Number(2.0)));
        assert_eq!(
            value("array", "stripe_unit"),
            Some(Value::Number(262_144.0))
        );
    }

    #[test]
    fn arrays_that_nobody_can_build_are_refused() {
        for (level, members) in [
            ("5", 2),
            ("6", 3),
            ("50", 5),
            ("50", 7),
            ("60", 6),
            ("0", 1),
            ("1", 1),
        ] {
            let refusal = composed("cheetah-15k7", &array(level, members)).expect_err(level);
            assert_eq!(refusal.key, "array.members", "{refusal}");
        }
        for (level, members) in [
            ("5", 3),
            ("6", 4),
            ("50", 6),
            ("60", 8),
            ("10", 4),
            ("none", 1),
        ] {
            composed("cheetah-15k7", &array(level, members)).expect(level);
        }
        // An adapter mirrors pairs, md any number of members.
        let three = array("10", 3);
        composed("cheetah-15k7", &three).expect("md can");
        let cached = Array {
            cache: Unit::new(512 << 20),
            ..three
        };
        let refusal = composed("cheetah-15k7", &cached).expect_err("no adapter can");
        assert_eq!(refusal.expected, "a multiple of 2 members in raid10");
        composed("eva8100", &array("5", 8)).expect_err("it is an array already");
        composed("cheetah-15k7", &array("7", 8)).expect_err("no level");
    }
}

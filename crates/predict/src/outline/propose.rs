//! Which profile a stack suggests where none was named, and what decides that the stack does not say.

use super::Place;
use crate::profile::registry;
use crate::sensitivity::tells;

/// A profile to begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Its name.
    pub profile: &'static str,
    /// What of the stack speaks for it, in words.
    pub because: String,
    /// What decides and the stack does not say: `section.key`, and what tells it.
    pub asks: Vec<(&'static str, &'static str)>,
}

/// Part of a model's name, in small letters, and the profile that it speaks for.
const MODELS: &[(&str, &str)] = &[
    ("elastic block store", "aws-gp3"),
    ("persistentdisk", "gcp-pd-balanced"),
    ("msft nvme accelerator", "azure-premium-v2"),
    ("perc", "raid-adapter-cached"),
    ("megaraid", "raid-adapter-cached"),
    ("logical volume", "raid-adapter-cached"),
    ("serveraid", "raid-adapter-cached"),
    ("mr9", "raid-adapter-cached"),
    ("arc-1", "raid-adapter-cached"),
    ("hsv", "san-lun"),
    ("vraid", "san-lun"),
    ("open-v", "san-lun"),
    ("dgc", "san-lun"),
    ("symmetrix", "san-lun"),
    ("lun", "san-lun"),
    ("3pardata", "san-lun"),
];

/// What decides in each profile: to be asked for unless the stack says it.
const DECIDE: &[(&str, &[&str])] = &[
    (
        "san-lun",
        &[
            "cache.write",
            "cache.page",
            "array.stripe_unit",
            "array.level",
        ],
    ),
    (
        "raid-adapter-cached",
        &[
            "cache.write",
            "array.stripe_unit",
            "array.level",
            "array.members",
            "cache.page",
        ],
    ),
    (
        "md-hdd",
        &[
            "array.level",
            "array.members",
            "array.stripe_unit",
            "disk.format",
        ],
    ),
    ("nvme-tlc", &["flash.unit", "flash.layout", "flash.partial"]),
    ("sata-tlc", &["flash.unit", "flash.layout", "flash.partial"]),
    ("ultrastar-hc310-512e", &["disk.format", "disk.write_cache"]),
];

impl Place {
    /// The profile that the stack suggests.
    #[must_use]
    pub fn propose(&self) -> Proposal {
        let (profile, because) = self.suggested();
        let decide = DECIDE.iter().find(|(known, _)| *known == profile);
        let is_said = |path: &&&str| self.settings.iter().any(|setting| setting.path == **path);
        let asks = decide.map_or(&[][..], |(_, asks)| asks).iter();
        let asks = asks.filter(|path| !is_said(path));
        Proposal {
            profile,
            because,
            asks: asks.map(|path| (*path, tells(path))).collect(),
        }
    }

    fn suggested(&self) -> (&'static str, String) {
        let model = self.model.as_deref().unwrap_or("");
        let is_nvme = self.transport.as_deref() == Some("nvme") || self.base.starts_with("nvme");
        let said = |path: &str| self.settings.iter().find(|setting| setting.path == path);
        let has = |path: &str| said(path).is_some();
        let lower = model.to_lowercase();
        let known = MODELS.iter().find(|(part, _)| lower.contains(part));
        if let Some((_, profile)) = known.filter(|(_, profile)| registry::text(profile).is_some()) {
            return (profile, format!("its model is `{model}`"));
        }
        let flash = if is_nvme { "nvme-tlc" } else { "sata-tlc" };
        let spins = match self.rotational {
            Some(true) => "spinning disks",
            Some(false) => "flash",
            None => "members of which nothing is known",
        };
        match self.rotational {
            _ if has("array.members") && self.rotational == Some(false) => {
                (flash, "it is an array of flash".to_owned())
            }
            _ if self.is_on_device && (has("array.members") || has("array.level")) => {
                let policy = said("cache.write").and_then(|setting| setting.value.as_str());
                let (profile, cache) = match policy {
                    Some("through") => ("raid-adapter", ", whose cache is written through"),
                    Some(_) => ("raid-adapter-cached", ", whose cache is written back"),
                    None => ("raid-adapter-cached", ""),
                };
                (profile, format!("it is a volume of a RAID adapter{cache}"))
            }
            _ if has("array.members") => ("md-hdd", format!("it is an array of {spins}")),
            Some(false) if is_nvme => ("nvme-tlc", "it is an NVMe device".to_owned()),
            Some(false) => ("sata-tlc", "it does not spin, and is no NVMe device".to_owned()),
            _ if has("array.level") || has("array.stripe_unit") => (
                "raid-adapter-cached",
                "it has stripes below, and no array of the host's".to_owned(),
            ),
            Some(true) => match self.sectors() {
                Some("4Kn") => ("ultrastar-hc310-4kn", "it is a disk with sectors of 4 KiB".to_owned()),
                Some("512n") => ("barracuda-es2", "it is a disk with sectors of 512 bytes".to_owned()),
                _ => ("ultrastar-hc310-512e", "it is a spinning disk".to_owned()),
            },
            None => (
                "san-lun",
                "nothing says what is below; a cached LUN is what most servers have that do not see their disks".to_owned(),
            ),
        }
    }

    /// `512e`, where the stack says.
    fn sectors(&self) -> Option<&str> {
        let format = self.settings.iter().find(|s| s.path == "disk.format")?;
        format.value.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Known, Setting};
    use super::*;
    use straddle_geometry::Bytes;

    fn place(settings: &[(&str, &str)], rotational: Option<bool>) -> Place {
        Place {
            name: "sda1".to_owned(),
            base: "sda".to_owned(),
            offset: Known {
                value: Bytes::new(32_256),
                from: String::new(),
            },
            length: None,
            filesystem: None,
            allocation_unit: None,
            physical_sector: None,
            stripe_unit: None,
            rotational,
            model: None,
            transport: None,
            container_block: None,
            platform: None,
            container: None,
            is_without_room: false,
            is_on_device: false,
            settings: settings
                .iter()
                .map(|(path, value)| Setting {
                    path: (*path).to_owned(),
                    value: toml::Value::from(*value),
                    from: String::new(),
                })
                .collect(),
        }
    }

    #[test]
    fn what_the_stack_says_chooses_a_profile_and_what_it_does_not_is_asked_for() {
        let md = place(
            &[
                ("array.level", "raid5"),
                ("array.members", "6"),
                ("array.stripe_unit", "512 KiB"),
            ],
            Some(true),
        );
        let proposal = md.propose();
        assert_eq!(proposal.profile, "md-hdd");
        let asks: Vec<&str> = proposal.asks.iter().map(|(path, _)| *path).collect();
        assert_eq!(asks, ["disk.format"]);
        let profile = |place: &Place| place.propose().profile;
        assert_eq!(
            profile(&place(&[("array.members", "4")], Some(false))),
            "sata-tlc"
        );
        assert_eq!(profile(&place(&[], Some(false))), "sata-tlc");
        let nvme = Place {
            transport: Some("nvme".to_owned()),
            ..place(&[], Some(false))
        };
        assert_eq!(profile(&nvme), "nvme-tlc");
        assert_eq!(
            profile(&place(&[("array.stripe_unit", "64 KiB")], None)),
            "raid-adapter-cached"
        );
        assert_eq!(
            profile(&place(&[("disk.format", "4Kn")], Some(true))),
            "ultrastar-hc310-4kn"
        );
        assert_eq!(profile(&place(&[], None)), "san-lun");
        // The same figures, of what is a device to the host.
        for (policy, expected) in [
            (None, "raid-adapter-cached"),
            (Some("back"), "raid-adapter-cached"),
            (Some("through"), "raid-adapter"),
        ] {
            let mut settings = vec![("array.level", "raid5"), ("array.members", "6")];
            settings.extend(policy.map(|policy| ("cache.write", policy)));
            let adapter = Place {
                is_on_device: true,
                ..place(&settings, None)
            };
            let proposal = adapter.propose();
            assert_eq!(proposal.profile, expected, "{policy:?}");
            let asks_for_cache = proposal.asks.iter().any(|(path, _)| *path == "cache.write");
            assert_eq!(asks_for_cache, policy.is_none(), "{policy:?}");
        }
        for (model, expected) in [
            ("Amazon Elastic Block Store", "aws-gp3"),
            ("PERC H730P Mini", "raid-adapter-cached"),
            ("LOGICAL VOLUME", "raid-adapter-cached"),
            ("HSV210", "san-lun"),
        ] {
            let place = Place {
                model: Some(model.to_owned()),
                ..place(&[], Some(true))
            };
            assert_eq!(profile(&place), expected, "{model}");
        }
    }

    #[test]
    fn every_profile_that_may_be_proposed_is_there() {
        let named = MODELS.iter().map(|(_, profile)| profile);
        for profile in named.chain(DECIDE.iter().map(|(profile, _)| profile)) {
            registry::load(profile).unwrap_or_else(|refusal| panic!("{refusal}"));
        }
    }
}

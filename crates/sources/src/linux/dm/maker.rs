//! Who made a device-mapper device.

/// Splits a device-mapper UUID into what says who made it and what identifies it: `CRYPT-LUKS2-` and the rest.
pub(crate) fn maker(uuid: &str) -> (&str, &str) {
    let uuid = uuid.trim();
    let mut end = 0;
    for part in uuid.split_inclusive('-') {
        let word = part.trim_end_matches('-');
        let known = matches!(
            word,
            "CRYPT"
                | "LUKS1"
                | "LUKS2"
                | "PLAIN"
                | "VERITY"
                | "INTEGRITY"
                | "TCRYPT"
                | "BITLK"
                | "TEMP"
                | "SUBDEV"
                | "LVM"
                | "mpath"
                | "DMRAID"
                | "stratis"
        ) || word
            .strip_prefix("part")
            .is_some_and(|n| n.len() <= 3 && n.bytes().all(|b| b.is_ascii_digit()));
        if !known || !part.ends_with('-') {
            break;
        }
        end += part.len();
    }
    uuid.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_mapper_uuid_keeps_who_made_it() {
        assert_eq!(
            maker("CRYPT-LUKS2-d1a2-root"),
            ("CRYPT-LUKS2-", "d1a2-root")
        );
        assert_eq!(maker("LVM-abcDEF"), ("LVM-", "abcDEF"));
        assert_eq!(maker("part1-mpath-3600a"), ("part1-mpath-", "3600a"));
        assert_eq!(maker("mpath"), ("", "mpath"));
    }
}

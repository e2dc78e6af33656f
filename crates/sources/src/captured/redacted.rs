//! Identities that are none: serial numbers that were blotted out before a text was shown, and those that drives and bridges
//! without one print.

use crate::inventory::Name;

/// Words that stand for what was taken out, or for nothing.
const WORDS: [&str; 12] = [
    "redact",
    "remove",
    "hidden",
    "masked",
    "censor",
    "anonym",
    "serial",
    "unknown",
    "not available",
    "filled by",
    "default string",
    "snip",
];
const NONE: [&str; 4] = ["na", "none", "null", "nil"];

/// True for an identity that tells nothing apart.
pub(super) fn is(name: &Name) -> bool {
    if !name.space.is_identity() {
        return false;
    }
    let lower = name.text.to_lowercase();
    if lower.contains(['*', '…', '█', '•', '?']) || lower.contains("...") {
        return true;
    }
    let bare: Vec<char> = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    let Some(first) = bare.first() else {
        return true;
    };
    let alike = bare.iter().all(|c| c == first);
    let crossed = bare.windows(4).any(|four| four.iter().all(|c| *c == 'x'));
    // Bridges for USB count.
    let text: String = bare.iter().collect();
    let counted = text.len() >= 8 && "0123456789abcdef".starts_with(&text)
        || text.len() >= 8 && "123456789abcdef".starts_with(&text);
    alike
        || crossed
        || counted
        || NONE.contains(&&*text)
        || WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Space;

    #[test]
    fn what_was_blotted_out_is_no_identity() {
        let of = |text: &'static str| is(&Name::new(Space::Serial, text));
        for text in [
            "****REDACTED****",
            "XXXXXXXX",
            "WD-WCC4Nxxxxxxx",
            "S3Z8NB0K******",
            "<removed>",
            "0000_0000_0000_0000",
            "N/A",
            "0123456789ABCDEF",
            "123456789012".get(..9).unwrap_or_default(),
            "--",
            "ABC...",
        ] {
            assert!(of(text), "{text}");
        }
        for text in [
            "WD-WCVXA1662LC0",
            "PACCRCN8112ABC",
            "12345",
            "xx1",
            "1c2d3e4f",
        ] {
            assert!(!of(text), "{text}");
        }
        assert!(!is(&Name::new(Space::WindowsDisk, "0")));
    }
}

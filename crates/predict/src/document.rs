//! TOML that somebody else wrote: of bounded length, with the line at which it goes wrong.

use crate::profile::Refusal;

/// Longest document that is read, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The table that `text` is.
///
/// # Errors
/// Longer than 1 MiB, or not TOML.
pub(crate) fn table(text: &str) -> Result<toml::Table, Refusal> {
    if text.len() > MAX_BYTES {
        let found = format!("{} bytes", text.len());
        return Err(Refusal::new(
            "its length",
            found,
            format!("at most {MAX_BYTES}"),
        ));
    }
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.unwrap_or("").matches('\n').count() + 1;
        let found = error.message().replace('\n', " ");
        Refusal::new(format!("line {line}"), found, "TOML")
    })
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn an_error_has_its_line() {
        let refused = |text: &str| table(text).expect_err("a refusal").to_string();
        assert!(refused("= 1").starts_with("line 1 "), "{}", refused("= 1"));
        let third = refused("a = 1\n[b]\n= 2\n");
        assert!(third.starts_with("line 3 "), "{third}");
        let inside = refused("a = 1\nb = [1,\n x]\n");
        assert!(inside.starts_with("line 3 "), "{inside}");
    }

    #[test]
    fn a_document_of_more_than_a_mebibyte_is_refused() {
        let text = |comment: usize| format!("#{}", "x".repeat(comment - 1));
        assert_eq!(table(&text(1 << 20)), Ok(toml::Table::new()));
        let refused = table(&text((1 << 20) + 1)).expect_err("a refusal");
        assert_eq!(
            refused.to_string(),
            "its length is 1048577 bytes; expected at most 1048576"
        );
    }
}

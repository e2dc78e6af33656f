//! Which code exists only for tests. What depends on a system or a feature counts as there: an import on Windows is one.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

/// Whether attributes leave something out of every build that is none for tests.
pub(super) fn only_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        if path.is_ident("test") {
            return true;
        }
        path.is_ident("cfg")
            && attribute
                .parse_args::<Meta>()
                .is_ok_and(|condition| holds(&condition) == Some(false))
    })
}

/// What a condition comes to outside of tests; nothing where that depends on something else.
fn holds(condition: &Meta) -> Option<bool> {
    match condition {
        Meta::Path(path) => path.is_ident("test").then_some(false),
        Meta::NameValue(_) => None,
        Meta::List(list) => {
            let parts = list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .ok()?;
            let mut parts = parts.iter().map(holds);
            if list.path.is_ident("not") {
                parts.next()?.map(|value| !value)
            } else if list.path.is_ident("all") {
                parts.any(|p| p == Some(false)).then_some(false)
            } else if parts.all(|p| p == Some(false)) {
                Some(false)
            } else {
                None
            }
        }
    }
}

//! Paths as lists of names.

use syn::ext::IdentExt;

/// The segments of a type that is a plain path, references aside.
pub(super) fn type_path(ty: &syn::Type) -> Option<Vec<String>> {
    match ty {
        syn::Type::Path(path) if path.qself.is_none() => Some(segments(&path.path)),
        syn::Type::Reference(inner) => type_path(&inner.elem),
        syn::Type::Paren(inner) => type_path(&inner.elem),
        syn::Type::Group(inner) => type_path(&inner.elem),
        _ => None,
    }
}

/// The segments of a path; the first is empty where it begins with `::`, which leads out of the crate.
pub(super) fn segments(path: &syn::Path) -> Vec<String> {
    let leading = path.leading_colon.map(|_| String::new());
    let names = path.segments.iter().map(|s| plain(&s.ident));
    leading.into_iter().chain(names).collect()
}

/// A name without `r#`.
pub(super) fn plain(ident: &syn::Ident) -> String {
    ident.unraw().to_string()
}

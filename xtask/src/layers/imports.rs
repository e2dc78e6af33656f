//! `use` declarations, taken apart into one path each.

use syn::UseTree;

use super::segments::plain;

/// One import.
pub(super) struct Import {
    pub(super) path: Vec<String>,
    pub(super) name: Named,
    pub(super) line: usize,
}

/// What an import makes of its path.
pub(super) enum Named {
    As(String),
    Everything,
    /// `as _`.
    Nothing,
}

/// The imports of a declaration.
pub(super) fn of(item: &syn::ItemUse) -> Vec<Import> {
    let start = item.leading_colon.map(|_| String::new());
    let mut out = Vec::new();
    flatten(&item.tree, start.into_iter().collect(), &mut out);
    out
}

fn flatten(tree: &UseTree, mut before: Vec<String>, out: &mut Vec<Import>) {
    match tree {
        UseTree::Path(path) => {
            before.push(plain(&path.ident));
            flatten(&path.tree, before, out);
        }
        UseTree::Name(name) => {
            let line = name.ident.span().start().line;
            let ident = plain(&name.ident);
            // `use a::{self}` names `a`.
            if ident != "self" || before.is_empty() {
                before.push(ident);
            }
            let named = before.last().cloned().unwrap_or_default();
            out.push(Import {
                path: before,
                name: Named::As(named),
                line,
            });
        }
        UseTree::Rename(rename) => {
            let line = rename.ident.span().start().line;
            if rename.ident != "self" || before.is_empty() {
                before.push(plain(&rename.ident));
            }
            let name = match plain(&rename.rename).as_str() {
                "_" => Named::Nothing,
                name => Named::As(name.to_owned()),
            };
            out.push(Import {
                path: before,
                name,
                line,
            });
        }
        UseTree::Glob(glob) => out.push(Import {
            path: before,
            name: Named::Everything,
            line: glob.star_token.spans[0].start().line,
        }),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before.clone(), out);
            }
        }
    }
}

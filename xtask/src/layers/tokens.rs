//! Paths among tokens that are not parsed: arguments of macros, bodies of `macro_rules!`, attributes.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::collections::HashSet;

use super::segments::segments;

/// A path as it is written, with its line.
pub(super) struct Written {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// Where tokens stand: in an attribute a single word is a key as a rule, and some strings are paths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Code,
    Attribute,
}

/// Keys whose string is a path.
const PATH_KEYS: &[&str] = &[
    "with",
    "serialize_with",
    "deserialize_with",
    "schema_with",
    "skip_serializing_if",
    "default",
    "from",
    "into",
    "try_from",
    "remote",
    "getter",
];

/// Words after which a name is being defined, or is a label of something local.
const DEFINES: &[&str] = &[
    "fn", "struct", "enum", "union", "trait", "type", "mod", "let", "mut", "ref", "const", "static",
];

/// All paths among tokens, single names too.
pub(super) fn paths(tokens: TokenStream, place: Place) -> Vec<Written> {
    let mut out = Vec::new();
    scan(tokens, place, &[], &mut out);
    out
}

/// All words among tokens.
pub(super) fn words(tokens: TokenStream, out: &mut HashSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                out.insert(ident.to_string());
            }
            TokenTree::Group(group) => words(group.stream(), out),
            _ => {}
        }
    }
}

/// Names that the first strings of a macro capture: `{name}` and `{name:…}`.
pub(super) fn captured(tokens: &TokenStream) -> Vec<Written> {
    let mut out = Vec::new();
    for token in tokens.clone() {
        let TokenTree::Literal(literal) = token else {
            continue;
        };
        let line = literal.span().start().line;
        let text = literal.to_string();
        if !text.contains('"') {
            continue;
        }
        for part in text.replace("{{", "").split('{').skip(1) {
            let end = part
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(part.len());
            let begins = part.chars().next().is_some_and(|c| !c.is_numeric());
            if end > 0 && begins && part[end..].starts_with(['}', ':']) {
                out.push(Written {
                    path: vec![part[..end].to_owned()],
                    line,
                });
            }
        }
    }
    out
}

fn scan(tokens: TokenStream, place: Place, prefix: &[String], out: &mut Vec<Written>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => {
                // The group of a path's end is its names: `a::{b, c}`; any other stands for itself.
                scan(group.stream(), place, &[], out);
                at += 1;
            }
            TokenTree::Literal(literal) if place == Place::Attribute => {
                let line = literal.span().start().line;
                for path in paths_in_string(&tokens[..at], &literal.to_string()) {
                    out.push(Written { path, line });
                }
                at += 1;
            }
            TokenTree::Ident(ident) => {
                let line = ident.span().start().line;
                let start = at;
                let mut path = prefix.to_vec();
                if leads_out(&tokens[..at]) {
                    path.push(String::new());
                }
                path.push(name_at(&tokens, at));
                at += 1;
                while let Some(next) = tokens.get(at + 2).filter(|_| separator(&tokens, at)) {
                    match next {
                        TokenTree::Ident(_) => {
                            path.push(name_at(&tokens, at + 2));
                            at += 3;
                        }
                        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                            scan(group.stream(), place, &path, out);
                            at += 3;
                            break;
                        }
                        _ => break,
                    }
                }
                let single = path.len() == 1;
                if !single || counts(&tokens, start, at, place) {
                    out.push(Written { path, line });
                }
            }
            _ => at += 1,
        }
    }
}

/// `::` at a place.
fn separator(tokens: &[TokenTree], at: usize) -> bool {
    is(tokens.get(at), ':') && is(tokens.get(at + 1), ':')
}

/// Whether a path begins with `::`, and not behind a name, which would be an argument list's end (`<T>::name`).
fn leads_out(before: &[TokenTree]) -> bool {
    let n = before.len();
    n >= 2 && separator(before, n - 2) && !(n >= 3 && is(before.get(n - 3), '>'))
}

/// A name, with the dollar of `$crate`.
fn name_at(tokens: &[TokenTree], at: usize) -> String {
    let name = tokens[at].to_string();
    let name = name.trim_start_matches("r#").to_owned();
    if name == "crate" && at > 0 && is(tokens.get(at - 1), '$') {
        return "$crate".to_owned();
    }
    name
}

/// Whether a single name may be the use of an item.
fn counts(tokens: &[TokenTree], start: usize, end: usize, place: Place) -> bool {
    let before = start.checked_sub(1).and_then(|i| tokens.get(i));
    let earlier = start.checked_sub(2).and_then(|i| tokens.get(i));
    match before {
        // A field or method, but not the end of a range.
        Some(TokenTree::Punct(p)) if p.as_char() == '.' && !is(earlier, '.') => return false,
        // A lifetime, or a variable of a macro.
        Some(TokenTree::Punct(p)) if matches!(p.as_char(), '\'' | '$') => return false,
        Some(TokenTree::Ident(word)) if DEFINES.contains(&word.to_string().as_str()) => {
            return false;
        }
        _ => {}
    }
    // A field with its value or type.
    if is(tokens.get(end), ':') && !is(tokens.get(end + 1), ':') {
        return false;
    }
    if place == Place::Attribute {
        let name = tokens[start].to_string();
        return is(before, '=') || name.starts_with(char::is_uppercase);
    }
    true
}

/// The paths that a string is, behind a key: `with` names a module, of which two functions are used.
fn paths_in_string(before: &[TokenTree], literal: &str) -> Vec<Vec<String>> {
    let [.., TokenTree::Ident(key), equals] = before else {
        return Vec::new();
    };
    let key = key.to_string();
    if !is(Some(equals), '=') || !PATH_KEYS.contains(&key.as_str()) {
        return Vec::new();
    }
    let text = literal.trim_matches('"');
    let Ok(path) = syn::parse_str::<syn::Path>(text) else {
        return Vec::new();
    };
    let path = segments(&path);
    if key != "with" {
        return vec![path];
    }
    let functions = ["serialize", "deserialize"].map(|name| {
        let mut path = path.clone();
        path.push(name.to_owned());
        path
    });
    functions.to_vec()
}

fn is(token: Option<&TokenTree>, c: char) -> bool {
    match token {
        Some(TokenTree::Punct(p)) => {
            p.as_char() == c && (c != '\'' || p.spacing() == Spacing::Joint)
        }
        _ => false,
    }
}

//! All paths of a crate, and the edges that they are: declarations, types, expressions, patterns, tokens of macros.

use anyhow::{Result, bail};
use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Meta, Path, Token};

use super::conditions::only_for_tests;
use super::imports::{self, Named};
use super::modules::{Crate, Kind, attributes};
use super::names::{Target, items};
use super::scopes::{Local, Scopes};
use super::segments::{plain, segments, type_path};
use super::tokens::{self, Place, Written};

/// Edges between files, each with the first path that makes it.
pub(super) type Edges = BTreeMap<(usize, usize), Witness>;

/// A path that leads from one file to another.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    pub(super) path: String,
    pub(super) line: usize,
}

/// The edges of a crate.
///
/// # Errors
/// Where a file includes another, which is not followed.
pub(super) fn edges(of: &Crate) -> Result<Edges> {
    let mut edges = Edges::new();
    let mut included = None;
    for (number, module) in of.modules.iter().enumerate() {
        let mut walk = Walk {
            of,
            module: number,
            file: module.file,
            scopes: Scopes::default(),
            inside: Vec::new(),
            edges: &mut edges,
            included: &mut included,
        };
        for item in &module.items {
            walk.visit_item(item);
        }
    }
    match included {
        Some((file, line)) => bail!(
            "{} at line {line}: include! hides paths from this check",
            of.files[file].path
        ),
        None => Ok(edges),
    }
}

struct Walk<'a> {
    of: &'a Crate,
    module: usize,
    file: usize,
    scopes: Scopes,
    /// Macros whose bodies are being gone through.
    inside: Vec<usize>,
    edges: &'a mut Edges,
    /// A file that includes another, and the line.
    included: &'a mut Option<(usize, usize)>,
}

impl Walk<'_> {
    fn edge(&mut self, to: usize, path: &[String], line: usize) {
        if to == self.file {
            return;
        }
        let witness = Witness {
            path: path.join("::"),
            line,
        };
        let edge = self
            .edges
            .entry((self.file, to))
            .or_insert_with(|| witness.clone());
        if line < edge.line {
            *edge = witness;
        }
    }

    /// What a path means here, from the innermost scope outwards.
    fn targets(&self, path: &[String], value: bool) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else {
            return Vec::new();
        };
        match self.scopes.find(first, value && rest.is_empty()) {
            Some(Local::Variable | Local::Here) => return Vec::new(),
            Some(Local::Import(import)) => {
                return self.of.below(self.of.resolve(&import, self.module), rest);
            }
            Some(Local::Items(found)) => return found.into_iter().map(Target::Item).collect(),
            None => {}
        }
        for glob in self.scopes.globs() {
            let found = self.of.in_glob(glob, first, self.module);
            if !found.is_empty() {
                return self.of.below(found, rest);
            }
        }
        self.of.resolve(path, self.module)
    }

    /// Notes a path: the file of the item that it names, and the files that implement what it calls.
    fn note(&mut self, path: &[String], line: usize, value: bool) {
        for item in items(&self.targets(path, value)) {
            self.edge(self.of.items[item].file, path, line);
            if let [_, .., last] = path {
                self.member(item, last, path, line);
            }
        }
    }

    fn member(&mut self, item: usize, name: &str, path: &[String], line: usize) {
        for file in self.of.implemented(item, name) {
            self.edge(file, path, line);
        }
    }

    fn note_all(&mut self, found: Vec<Written>) {
        for Written { path, line } in found {
            self.note(&path, line, true);
        }
    }

    /// A path of which a type is the beginning: `<Type as Trait>::name`.
    fn qualified(&mut self, qself: &syn::QSelf, path: &Path) {
        self.visit_type(&qself.ty);
        if qself.position > 0 {
            let mut of_trait = path.clone();
            of_trait.segments = path.segments.iter().take(qself.position).cloned().collect();
            self.visit_path(&of_trait);
        }
        let (Some(last), Some(of_type)) = (path.segments.last(), type_path(&qself.ty)) else {
            return;
        };
        let line = last.ident.span().start().line;
        let mut written = of_type.clone();
        written.push(plain(&last.ident));
        for item in items(&self.targets(&of_type, false)) {
            self.member(item, &plain(&last.ident), &written, line);
        }
        for segment in &path.segments {
            self.visit_path_arguments(&segment.arguments);
        }
    }

    /// A macro that the crate defines: what its body names is named here, too.
    fn expand(&mut self, path: &Path) {
        let written = segments(path);
        let mut found = items(&self.of.resolve(&written, self.module));
        found.retain(|item| matches!(self.of.items[*item].kind, Kind::Macro(_)));
        if let ([name], true) = (written.as_slice(), found.is_empty()) {
            found = self.of.macro_named(name);
        }
        let line = line_of(path);
        for item in found {
            self.edge(self.of.items[item].file, &written, line);
            let Kind::Macro(body) = &self.of.items[item].kind else {
                continue;
            };
            if self.inside.contains(&item) {
                continue;
            }
            self.inside.push(item);
            for mut named in tokens::paths(body.clone(), Place::Code) {
                named.line = line;
                self.note(&named.path, line, true);
            }
            self.inside.pop();
        }
    }

    /// Tokens of a macro: as expressions, statements or items where they are that, else whatever looks like a path.
    fn tokens(&mut self, stream: &TokenStream) {
        self.note_all(tokens::captured(stream));
        let expressions = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(parsed) = expressions.parse2(stream.clone()) {
            for expression in &parsed {
                self.visit_expr(expression);
            }
        } else if let Ok(statements) = syn::Block::parse_within.parse2(stream.clone()) {
            self.block(&statements);
        } else {
            self.note_all(tokens::paths(stream.clone(), Place::Code));
        }
    }

    fn block(&mut self, statements: &[syn::Stmt]) {
        self.scopes.enter(false);
        // Items of a block can be used before they are declared.
        for statement in statements {
            if let syn::Stmt::Item(item) = statement
                && !only_for_tests(attributes(item))
            {
                self.declare(item);
            }
        }
        for statement in statements {
            self.visit_stmt(statement);
        }
        self.scopes.leave();
    }

    fn declare(&mut self, item: &syn::Item) {
        let ident = match item {
            syn::Item::Use(item) => {
                for import in imports::of(item) {
                    match import.name {
                        Named::As(name) => self.scopes.declare(name, Local::Import(import.path)),
                        Named::Everything => self.scopes.glob(import.path),
                        Named::Nothing => {}
                    }
                }
                return;
            }
            syn::Item::Const(i) => &i.ident,
            syn::Item::Enum(i) => &i.ident,
            syn::Item::Fn(i) => &i.sig.ident,
            syn::Item::Static(i) => &i.ident,
            syn::Item::Struct(i) => &i.ident,
            syn::Item::Trait(i) => &i.ident,
            syn::Item::Type(i) => &i.ident,
            _ => return,
        };
        self.scopes.declare(plain(ident), Local::Here);
    }

    fn scoped(&mut self, item: bool, walk: impl FnOnce(&mut Self)) {
        self.scopes.enter(item);
        walk(self);
        self.scopes.leave();
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_path(&mut self, path: &'ast Path) {
        self.note(&segments(path), line_of(path), false);
        visit::visit_path(self, path);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        match &path.qself {
            Some(qself) => self.qualified(qself, &path.path),
            None => {
                self.note(&segments(&path.path), line_of(&path.path), true);
                visit::visit_path(self, &path.path);
            }
        }
    }

    fn visit_type_path(&mut self, path: &'ast syn::TypePath) {
        match &path.qself {
            Some(qself) => self.qualified(qself, &path.path),
            None => self.visit_path(&path.path),
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for import in imports::of(item) {
            self.note(&import.path, import.line, false);
        }
    }

    fn visit_macro(&mut self, of: &'ast syn::Macro) {
        if of
            .path
            .segments
            .last()
            .is_some_and(|s| s.ident == "include")
        {
            *self.included = Some((self.file, line_of(&of.path)));
        }
        self.expand(&of.path);
        self.tokens(&of.tokens);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if item.ident.is_some() {
            // Of a definition only what is bound to this crate; the rest counts where it is used.
            let mut found = tokens::paths(item.mac.tokens.clone(), Place::Code);
            found.retain(|w| matches!(w.path[0].as_str(), "$crate" | "crate"));
            self.note_all(found);
        } else {
            self.visit_macro(&item.mac);
        }
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        if only_for_tests(attributes(item)) {
            return;
        }
        if let syn::Item::Verbatim(tokens) = item {
            return self.note_all(tokens::paths(tokens.clone(), Place::Code));
        }
        self.scoped(true, |walk| {
            if let syn::Item::Impl(implementation) = item {
                let of_type = type_path(&implementation.self_ty).unwrap_or_default();
                let found = items(&walk.targets(&of_type, false));
                walk.scopes.declare("Self".to_owned(), Local::Items(found));
            }
            visit::visit_item(walk, item);
        });
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes: &[Attribute] = match item {
            syn::ImplItem::Const(i) => &i.attrs,
            syn::ImplItem::Fn(i) => &i.attrs,
            syn::ImplItem::Type(i) => &i.attrs,
            syn::ImplItem::Macro(i) => &i.attrs,
            _ => &[],
        };
        if only_for_tests(attributes) {
            return;
        }
        if let syn::ImplItem::Verbatim(tokens) = item {
            return self.note_all(tokens::paths(tokens.clone(), Place::Code));
        }
        self.scoped(true, |walk| visit::visit_impl_item(walk, item));
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        if let syn::TraitItem::Verbatim(tokens) = item {
            return self.note_all(tokens::paths(tokens.clone(), Place::Code));
        }
        self.scoped(true, |walk| visit::visit_trait_item(walk, item));
    }

    fn visit_generic_param(&mut self, parameter: &'ast syn::GenericParam) {
        let ident = match parameter {
            syn::GenericParam::Type(p) => Some(&p.ident),
            syn::GenericParam::Const(p) => Some(&p.ident),
            syn::GenericParam::Lifetime(_) => None,
        };
        if let Some(ident) = ident {
            self.scopes.declare(plain(ident), Local::Here);
        }
        visit::visit_generic_param(self, parameter);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !only_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.block(&block.stmts);
    }

    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        if let syn::Stmt::Macro(i) = statement
            && only_for_tests(&i.attrs)
        {
            return;
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if only_for_tests(&local.attrs) {
            return;
        }
        // The value first: it does not see the name that it gets.
        if let Some(init) = &local.init {
            self.visit_local_init(init);
        }
        self.visit_pat(&local.pat);
    }

    fn visit_expr_let(&mut self, i: &'ast syn::ExprLet) {
        self.visit_expr(&i.expr);
        self.visit_pat(&i.pat);
    }

    fn visit_expr_if(&mut self, i: &'ast syn::ExprIf) {
        self.scoped(false, |walk| {
            walk.visit_expr(&i.cond);
            walk.visit_block(&i.then_branch);
        });
        if let Some((_, otherwise)) = &i.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, i: &'ast syn::ExprWhile) {
        self.scoped(false, |walk| visit::visit_expr_while(walk, i));
    }

    fn visit_expr_for_loop(&mut self, i: &'ast syn::ExprForLoop) {
        self.visit_expr(&i.expr);
        self.scoped(false, |walk| {
            walk.visit_pat(&i.pat);
            walk.visit_block(&i.body);
        });
    }

    fn visit_expr_closure(&mut self, i: &'ast syn::ExprClosure) {
        self.scoped(false, |walk| visit::visit_expr_closure(walk, i));
    }

    fn visit_arm(&mut self, i: &'ast syn::Arm) {
        if !only_for_tests(&i.attrs) {
            self.scoped(false, |walk| visit::visit_arm(walk, i));
        }
    }

    fn visit_pat_ident(&mut self, i: &'ast syn::PatIdent) {
        let name = plain(&i.ident);
        let binds = i.by_ref.is_some() || i.mutability.is_some() || i.subpat.is_some();
        if !binds && name.starts_with(char::is_uppercase) {
            // A constant or a variant, by this repository's naming.
            self.note(&[name], i.ident.span().start().line, true);
        } else {
            self.scopes.declare(name, Local::Variable);
        }
        visit::visit_pat_ident(self, i);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let path = attribute.path();
        let says_nothing = ["doc", "cfg", "allow", "expect", "deny", "warn", "path"];
        if says_nothing.iter().any(|name| path.is_ident(name)) {
            return;
        }
        if let Meta::List(list) = &attribute.meta {
            self.note_all(tokens::paths(list.tokens.clone(), Place::Attribute));
        }
    }

    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}

fn line_of(path: &Path) -> usize {
    let first = path.segments.first();
    first.map_or(0, |segment| segment.ident.span().start().line)
}

//! A crate as the compiler reads it: files, the modules in them, and what each module names. Nothing that exists only for
//! tests is read.

use anyhow::{Context, Result};
use proc_macro2::TokenStream;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::conditions::only_for_tests;
use super::imports;
use super::segments::{plain, type_path};
use super::tokens;

/// One crate: its files are the nodes of the graph, its modules are what paths go through.
#[derive(Default)]
pub(super) struct Crate {
    pub(super) files: Vec<File>,
    pub(super) modules: Vec<Module>,
    pub(super) items: Vec<Item>,
    /// The files with an `impl` of a type that has an associated item of this name.
    pub(super) associated: HashMap<(usize, String), BTreeSet<usize>>,
    /// Names of the crate itself, by which a path may begin anywhere: `extern crate self as name`.
    pub(super) own_names: HashSet<String>,
}

/// A source file.
pub(super) struct File {
    /// Below the folder of the crate's root.
    pub(super) path: String,
    /// The folder that the file belongs to: that of its child modules where it has any, else the one that it lies in. So
    /// `foo.rs` with `foo/`, or `foo/mod.rs`, is of one folder with its children, and the two spellings count alike.
    pub(super) folder: PathBuf,
}

/// A module: a file, or an inline module in one. The first is the crate's root.
#[derive(Default)]
pub(super) struct Module {
    pub(super) parent: usize,
    pub(super) file: usize,
    pub(super) names: HashMap<String, Vec<Name>>,
    pub(super) globs: Vec<Glob>,
    /// Words inside macros that may define items here; asked only when nothing else has the name.
    pub(super) words: HashSet<String>,
    pub(super) words_item: usize,
    pub(super) items: Vec<syn::Item>,
}

/// One meaning of a name in a module.
pub(super) struct Name {
    /// The module within which it may be used; nothing: everywhere.
    pub(super) within: Option<usize>,
    pub(super) meaning: Meaning,
}

pub(super) enum Meaning {
    Item(usize),
    Module(usize),
    Import(Vec<String>),
}

/// `use path::*`.
pub(super) struct Glob {
    pub(super) within: Option<usize>,
    pub(super) path: Vec<String>,
}

/// Something that a file defines.
pub(super) struct Item {
    pub(super) file: usize,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// An enum, whose variants can be imported.
    Enum(HashSet<String>),
    /// Another name of a type, as written in a module.
    Alias(Vec<String>, usize),
    /// A function or a constant: nothing is below it, so that a module of its name is meant where a path goes on.
    Value,
    /// `macro_rules!`: its paths count where it is used.
    Macro(TokenStream),
    Other,
}

impl Crate {
    /// Reads the crate whose root is `root`.
    pub(super) fn read(root: &Path) -> Result<Crate> {
        let directory = root.parent().context("a root without a folder")?;
        let mut read = Crate::default();
        read.file(root, directory, directory, 0, directory)?;
        read.words_of_macros();
        read.associate();
        Ok(read)
    }

    /// Reads a file as a module. `children` is where its child modules lie, `here` the folder in which it was declared.
    fn file(
        &mut self,
        path: &Path,
        children: &Path,
        here: &Path,
        parent: usize,
        root: &Path,
    ) -> Result<usize> {
        let shown = path.strip_prefix(root).unwrap_or(path);
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let syntax = syn::parse_file(&text).with_context(|| path.display().to_string())?;
        let file = self.files.len();
        self.files.push(File {
            path: shown.display().to_string(),
            folder: here.to_owned(),
        });
        let items = match only_for_tests(&syntax.attrs) {
            true => Vec::new(),
            false => syntax.items,
        };
        if self.module(file, parent, items, children, root)?.1 {
            self.files[file].folder = children.to_owned();
        }
        Ok(file)
    }

    /// Declares a module with these items; says its number and whether files are below it.
    fn module(
        &mut self,
        file: usize,
        parent: usize,
        items: Vec<syn::Item>,
        children: &Path,
        root: &Path,
    ) -> Result<(usize, bool)> {
        let module = self.modules.len();
        let words_item = self.item(file, Kind::Other);
        self.modules.push(Module {
            parent,
            file,
            words_item,
            ..Module::default()
        });
        let mut has_files = false;
        for item in items {
            if only_for_tests(attributes(&item)) {
                continue;
            }
            if let syn::Item::Mod(declared) = item {
                has_files |= self.child(module, declared, children, root)?;
            } else {
                self.declare(module, &item);
                self.modules[module].items.push(item);
            }
        }
        Ok((module, has_files))
    }

    fn child(
        &mut self,
        parent: usize,
        declared: syn::ItemMod,
        children: &Path,
        root: &Path,
    ) -> Result<bool> {
        let name = plain(&declared.ident);
        let file = self.modules[parent].file;
        let within = self.within(&declared.vis, parent);
        let below = children.join(&name);
        // The number that the next module gets.
        let module = self.modules.len();
        let has_files = if let Some((_, items)) = declared.content {
            self.module(file, parent, items, &below, root)?.1
        } else {
            let own = root.join(&self.files[file].path);
            let (path, inner) = match named_path(&declared.attrs) {
                Some(named) => {
                    let path = own.parent().unwrap_or(root).join(named);
                    let inner = path.parent().unwrap_or(root).to_owned();
                    (path, inner)
                }
                None if below.with_extension("rs").is_file() => {
                    (below.with_extension("rs"), below.clone())
                }
                None => (below.join("mod.rs"), below.clone()),
            };
            self.file(&path, &inner, children, parent, root)?;
            true
        };
        self.name(parent, &name, within, Meaning::Module(module));
        Ok(has_files)
    }

    fn declare(&mut self, module: usize, item: &syn::Item) {
        let (ident, vis, kind) = match item {
            syn::Item::Const(i) => (&i.ident, &i.vis, Kind::Value),
            syn::Item::Enum(i) => {
                let variants = i.variants.iter().map(|v| v.ident.to_string());
                (&i.ident, &i.vis, Kind::Enum(variants.collect()))
            }
            syn::Item::Fn(i) => (&i.sig.ident, &i.vis, Kind::Value),
            syn::Item::Static(i) => (&i.ident, &i.vis, Kind::Value),
            syn::Item::Struct(i) => (&i.ident, &i.vis, Kind::Other),
            syn::Item::Trait(i) => (&i.ident, &i.vis, Kind::Other),
            syn::Item::TraitAlias(i) => (&i.ident, &i.vis, Kind::Other),
            syn::Item::Type(i) => {
                let kind = match type_path(&i.ty) {
                    Some(path) => Kind::Alias(path, module),
                    None => Kind::Other,
                };
                (&i.ident, &i.vis, kind)
            }
            syn::Item::Union(i) => (&i.ident, &i.vis, Kind::Other),
            syn::Item::ForeignMod(foreign) => {
                for item in &foreign.items {
                    if let syn::ForeignItem::Fn(i) = item {
                        self.define(module, &i.sig.ident, &i.vis, Kind::Value);
                    }
                }
                return;
            }
            syn::Item::Use(i) => return self.imports(module, i),
            syn::Item::ExternCrate(i) if i.ident == "self" => {
                self.own_names
                    .extend(i.rename.as_ref().map(|(_, name)| plain(name)));
                return;
            }
            syn::Item::Macro(i) => {
                let Some(ident) = &i.ident else {
                    tokens::words(i.mac.tokens.clone(), &mut self.modules[module].words);
                    return;
                };
                let item = self.item(self.modules[module].file, Kind::Macro(i.mac.tokens.clone()));
                let name = plain(ident);
                let exported = i.attrs.iter().any(|a| a.path().is_ident("macro_export"));
                if exported && module != 0 {
                    self.name(0, &name, None, Meaning::Item(item));
                }
                return self.name(module, &name, Some(0), Meaning::Item(item));
            }
            _ => return,
        };
        self.define(module, ident, vis, kind);
    }

    fn define(&mut self, module: usize, ident: &syn::Ident, vis: &syn::Visibility, kind: Kind) {
        let item = self.item(self.modules[module].file, kind);
        let within = self.within(vis, module);
        self.name(module, &plain(ident), within, Meaning::Item(item));
    }

    fn imports(&mut self, module: usize, item: &syn::ItemUse) {
        let within = self.within(&item.vis, module);
        for import in imports::of(item) {
            let path = import.path;
            match import.name {
                imports::Named::As(name) => {
                    self.name(module, &name, within, Meaning::Import(path));
                }
                imports::Named::Everything => {
                    self.modules[module].globs.push(Glob { within, path });
                }
                imports::Named::Nothing => {}
            }
        }
    }

    fn item(&mut self, file: usize, kind: Kind) -> usize {
        self.items.push(Item { file, kind });
        self.items.len() - 1
    }

    fn name(&mut self, module: usize, name: &str, within: Option<usize>, meaning: Meaning) {
        let names = &mut self.modules[module].names;
        let name = names.entry(name.to_owned()).or_default();
        name.push(Name { within, meaning });
    }

    /// The module within which a visibility lets a name be used.
    fn within(&self, vis: &syn::Visibility, module: usize) -> Option<usize> {
        match vis {
            syn::Visibility::Public(_) => None,
            syn::Visibility::Inherited => Some(module),
            syn::Visibility::Restricted(restricted) => {
                let mut at = if restricted.in_token.is_some() {
                    0
                } else {
                    module
                };
                for segment in &restricted.path.segments {
                    match segment.ident.to_string().as_str() {
                        "self" => at = module,
                        "super" => at = self.modules[at].parent,
                        // `crate`, and names below it: wider than it is, which only widens what globs may find.
                        _ => at = 0,
                    }
                }
                Some(at)
            }
        }
    }

    /// Notes the words of macros' definitions where they are used in place of items: some of them are names of those.
    fn words_of_macros(&mut self) {
        for number in 0..self.modules.len() {
            let mut words = HashSet::new();
            for item in &self.modules[number].items {
                if let syn::Item::Macro(i) = item
                    && i.ident.is_none()
                    && let Some(last) = i.mac.path.segments.last()
                {
                    for definition in self.macro_named(&last.ident.to_string()) {
                        if let Kind::Macro(body) = &self.items[definition].kind {
                            tokens::words(body.clone(), &mut words);
                        }
                    }
                }
            }
            self.modules[number].words.extend(words);
        }
    }

    /// Notes which files implement what for which type.
    fn associate(&mut self) {
        let mut found = Vec::new();
        for (number, module) in self.modules.iter().enumerate() {
            for item in &module.items {
                let syn::Item::Impl(implementation) = item else {
                    continue;
                };
                let Some(path) = type_path(&implementation.self_ty) else {
                    continue;
                };
                for owner in self.items_of(&path, number) {
                    for member in &implementation.items {
                        let ident = match member {
                            syn::ImplItem::Const(i) => &i.ident,
                            syn::ImplItem::Fn(i) if !only_for_tests(&i.attrs) => &i.sig.ident,
                            syn::ImplItem::Type(i) => &i.ident,
                            _ => continue,
                        };
                        found.push(((owner, ident.to_string()), module.file));
                    }
                }
            }
        }
        for (key, file) in found {
            self.associated.entry(key).or_default().insert(file);
        }
    }
}

fn named_path(attributes: &[syn::Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|a| a.path().is_ident("path"))?;
    let value = &attribute.meta.require_name_value().ok()?.value;
    match value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}

/// The attributes of any item.
pub(super) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(i) => &i.attrs,
        syn::Item::Enum(i) => &i.attrs,
        syn::Item::ExternCrate(i) => &i.attrs,
        syn::Item::Fn(i) => &i.attrs,
        syn::Item::ForeignMod(i) => &i.attrs,
        syn::Item::Impl(i) => &i.attrs,
        syn::Item::Macro(i) => &i.attrs,
        syn::Item::Mod(i) => &i.attrs,
        syn::Item::Static(i) => &i.attrs,
        syn::Item::Struct(i) => &i.attrs,
        syn::Item::Trait(i) => &i.attrs,
        syn::Item::TraitAlias(i) => &i.attrs,
        syn::Item::Type(i) => &i.attrs,
        syn::Item::Union(i) => &i.attrs,
        syn::Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

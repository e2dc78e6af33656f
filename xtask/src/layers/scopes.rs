//! What names mean inside a function before its module is asked: variables, parameters, and what a block declares.

use std::collections::HashMap;

/// Scopes, the innermost last.
#[derive(Default)]
pub(super) struct Scopes(Vec<Scope>);

#[derive(Default)]
struct Scope {
    names: HashMap<String, Local>,
    globs: Vec<Vec<String>>,
    /// An item: variables around it cannot be seen in it.
    item: bool,
}

/// What a name is here.
#[derive(Clone)]
pub(super) enum Local {
    /// A variable: a value only, so that `name::…` is something else.
    Variable,
    /// A type parameter, or an item of this block.
    Here,
    /// A `use` of this block.
    Import(Vec<String>),
    /// `Self`: the items that it may be.
    Items(Vec<usize>),
}

impl Scopes {
    pub(super) fn enter(&mut self, item: bool) {
        self.0.push(Scope {
            item,
            ..Scope::default()
        });
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    pub(super) fn declare(&mut self, name: String, local: Local) {
        if let Some(scope) = self.0.last_mut() {
            scope.names.insert(name, local);
        }
    }

    pub(super) fn glob(&mut self, path: Vec<String>) {
        if let Some(scope) = self.0.last_mut() {
            scope.globs.push(path);
        }
    }

    /// What a name is; `value`: it stands alone as a value, so that a variable is meant where there is one.
    pub(super) fn find(&self, name: &str, value: bool) -> Option<Local> {
        let mut outside = false;
        for scope in self.0.iter().rev() {
            match scope.names.get(name) {
                Some(Local::Variable) if !value || outside => {}
                Some(local) => return Some(local.clone()),
                None => {}
            }
            outside |= scope.item;
        }
        None
    }

    /// The globs of all blocks around.
    pub(super) fn globs(&self) -> impl Iterator<Item = &Vec<String>> {
        self.0.iter().rev().flat_map(|scope| &scope.globs)
    }
}

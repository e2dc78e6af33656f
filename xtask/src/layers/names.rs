//! What a path means: through imports, re-exports and globs, to the files that define it.

use std::collections::BTreeSet;

use super::modules::{Crate, Kind, Meaning};

/// What a path, or the beginning of one, leads to. An item stands for its variants and associated items too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Module(usize),
    Item(usize),
}

/// Imports that are being followed, so that one that leads back to itself ends: module, name, and which meaning of it
/// (globs are counted from the other end).
type Trail = Vec<(usize, String, usize)>;

impl Crate {
    /// What a path means when it is written in a module.
    pub(super) fn resolve(&self, path: &[String], module: usize) -> Vec<Target> {
        self.follow(path, module, &mut Trail::new())
    }

    /// The items among what a path means.
    pub(super) fn items_of(&self, path: &[String], module: usize) -> Vec<usize> {
        items(&self.resolve(path, module))
    }

    /// What the rest of a path means, seen from what its beginning means.
    pub(super) fn below(&self, targets: Vec<Target>, rest: &[String]) -> Vec<Target> {
        self.onward(targets, rest, &mut Trail::new())
    }

    /// The files with an `impl` that gives a type an associated item, the type's own among them where it is there.
    pub(super) fn implemented(&self, item: usize, name: &str) -> BTreeSet<usize> {
        let mut items = vec![item];
        let mut at = 0;
        // An alias has the associated items of its type.
        while let Some(&item) = items.get(at) {
            if let Kind::Alias(path, module) = &self.items[item].kind {
                let more = self.items_of(path, *module);
                let new: Vec<usize> = more.into_iter().filter(|i| !items.contains(i)).collect();
                items.extend(new);
            }
            at += 1;
        }
        let files = items
            .iter()
            .filter_map(|item| self.associated.get(&(*item, name.to_owned())));
        files.flatten().copied().collect()
    }

    /// The macro of this name that a file of the crate defines; textual scope is not looked at.
    pub(super) fn macro_named(&self, name: &str) -> Vec<usize> {
        let meanings = self.modules.iter().filter_map(|m| m.names.get(name));
        let items = meanings.flatten().filter_map(|n| match n.meaning {
            Meaning::Item(item) => Some(item),
            _ => None,
        });
        items
            .filter(|item| matches!(self.items[*item].kind, Kind::Macro(_)))
            .collect()
    }

    fn follow(&self, path: &[String], module: usize, trail: &mut Trail) -> Vec<Target> {
        // `::name` is another crate, unless it is this one.
        let mut rest = match path {
            [none, rest @ ..] if none.is_empty() => match rest.first() {
                Some(first) if self.own_names.contains(first) => rest,
                _ => return Vec::new(),
            },
            path => path,
        };
        let mut at = None;
        while let Some((first, more)) = rest.split_first() {
            at = match first.as_str() {
                "crate" | "$crate" => Some(0),
                "self" => Some(at.unwrap_or(module)),
                "super" => Some(self.modules[at.unwrap_or(module)].parent),
                _ => break,
            };
            rest = more;
        }
        if let Some(at) = at {
            return self.onward(vec![Target::Module(at)], rest, trail);
        }
        let Some((first, rest)) = rest.split_first() else {
            return Vec::new();
        };
        let mut targets = Vec::new();
        self.lookup(module, first, None, trail, &mut targets);
        if targets.is_empty() && self.own_names.contains(first) {
            targets.push(Target::Module(0));
        }
        self.onward(targets, rest, trail)
    }

    fn onward(&self, targets: Vec<Target>, rest: &[String], trail: &mut Trail) -> Vec<Target> {
        let mut targets = targets;
        for name in rest {
            let mut next = Vec::new();
            for target in targets {
                match target {
                    Target::Module(module) => self.lookup(module, name, None, trail, &mut next),
                    Target::Item(item) => match self.items[item].kind {
                        Kind::Value | Kind::Macro(_) => {}
                        _ => next.push(target),
                    },
                }
            }
            targets = next;
        }
        targets
    }

    /// What a name means in a module. With `viewer`, only what may be used there: that is what a glob brings in.
    fn lookup(
        &self,
        module: usize,
        name: &str,
        viewer: Option<usize>,
        trail: &mut Trail,
        out: &mut Vec<Target>,
    ) {
        let before = out.len();
        let this = &self.modules[module];
        for (index, meaning) in this.names.get(name).into_iter().flatten().enumerate() {
            if !self.visible(meaning.within, viewer) {
                continue;
            }
            match &meaning.meaning {
                Meaning::Item(item) => push(out, Target::Item(*item)),
                Meaning::Module(child) => push(out, Target::Module(*child)),
                Meaning::Import(path) => {
                    let step = (module, name.to_owned(), index);
                    if trail.contains(&step) {
                        continue;
                    }
                    trail.push(step);
                    for target in self.follow(path, module, trail) {
                        push(out, target);
                    }
                    trail.pop();
                }
            }
        }
        if out.len() > before {
            return;
        }
        for (index, glob) in this.globs.iter().enumerate() {
            let step = (module, name.to_owned(), usize::MAX - index);
            if !self.visible(glob.within, viewer) || trail.contains(&step) {
                continue;
            }
            trail.push(step);
            for target in self.follow(&glob.path, module, trail) {
                self.through(target, name, module, trail, out);
            }
            trail.pop();
        }
        // A glob does not bring in what only may be there: too many words of macros are names of the prelude.
        if out.len() == before && viewer.is_none() && this.words.contains(name) {
            push(out, Target::Item(this.words_item));
        }
    }

    /// What a glob of a module or an enum brings in under a name.
    fn through(
        &self,
        target: Target,
        name: &str,
        viewer: usize,
        trail: &mut Trail,
        out: &mut Vec<Target>,
    ) {
        match target {
            Target::Module(module) => self.lookup(module, name, Some(viewer), trail, out),
            Target::Item(item) => {
                if let Kind::Enum(variants) = &self.items[item].kind
                    && variants.contains(name)
                {
                    push(out, target);
                }
            }
        }
    }

    /// What a glob in a block brings in under a name.
    pub(super) fn in_glob(&self, glob: &[String], name: &str, module: usize) -> Vec<Target> {
        let mut out = Vec::new();
        let mut trail = Trail::new();
        for target in self.follow(glob, module, &mut trail) {
            self.through(target, name, module, &mut trail, &mut out);
        }
        out
    }

    fn visible(&self, within: Option<usize>, viewer: Option<usize>) -> bool {
        let (Some(within), Some(mut viewer)) = (within, viewer) else {
            return true;
        };
        loop {
            if viewer == within {
                return true;
            }
            if viewer == 0 {
                return false;
            }
            viewer = self.modules[viewer].parent;
        }
    }
}

/// The items among targets.
pub(super) fn items(targets: &[Target]) -> Vec<usize> {
    let items = targets.iter().filter_map(|target| match target {
        Target::Item(item) => Some(*item),
        Target::Module(_) => None,
    });
    items.collect()
}

fn push(out: &mut Vec<Target>, target: Target) {
    if !out.contains(&target) {
        out.push(target);
    }
}

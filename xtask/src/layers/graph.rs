//! Cycles of files, and which of them are faults.

use std::collections::BTreeSet;
use std::path::Path;

use super::modules::Crate;
use super::paths::{Edges, edges};

/// Files of one cycle that may know each other.
const LARGEST: usize = 4;

/// What a crate's files import from each other.
pub(super) struct Graph {
    of: Crate,
    edges: Edges,
}

/// Files of which each leads to every other, in order of their names.
pub(super) struct Cycle {
    files: Vec<usize>,
    /// The folders of the files: more than one is a fault.
    pub(super) folders: usize,
}

impl Cycle {
    pub(super) fn files(&self) -> usize {
        self.files.len()
    }

    pub(super) fn is_fault(&self) -> bool {
        self.files.len() > LARGEST || self.folders > 1
    }
}

impl Graph {
    /// Reads the crate whose root is `root`.
    pub(super) fn read(root: &Path) -> anyhow::Result<Graph> {
        let of = Crate::read(root)?;
        let edges = edges(&of)?;
        Ok(Graph { of, edges })
    }

    pub(super) fn files(&self) -> usize {
        self.of.files.len()
    }

    /// The cycles, the largest first.
    pub(super) fn cycles(&self) -> Vec<Cycle> {
        let mut next = vec![Vec::new(); self.files()];
        for (from, to) in self.edges.keys() {
            next[*from].push(*to);
        }
        let mut cycles: Vec<Cycle> = components(&next)
            .into_iter()
            .filter(|files| files.len() > 1)
            .map(|files| self.cycle(files))
            .collect();
        cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.files.len()));
        cycles
    }

    fn cycle(&self, mut files: Vec<usize>) -> Cycle {
        files.sort_by_key(|file| &self.of.files[*file].path);
        let folders = files.iter().map(|file| &self.of.files[*file].folder);
        let folders = folders.collect::<BTreeSet<_>>().len();
        Cycle { files, folders }
    }

    /// The files of a cycle by name.
    pub(super) fn names(&self, cycle: &Cycle) -> Vec<&str> {
        let names = cycle.files.iter().map(|file| self.name(*file));
        names.collect()
    }

    /// Every step from one file of a cycle to another, with a path that makes it.
    pub(super) fn steps(&self, cycle: &Cycle) -> Vec<String> {
        let mut steps = Vec::new();
        for from in &cycle.files {
            for to in &cycle.files {
                if let Some(witness) = self.edges.get(&(*from, *to)) {
                    steps.push(format!(
                        "{} → {}: {} at line {}",
                        self.name(*from),
                        self.name(*to),
                        witness.path,
                        witness.line
                    ));
                }
            }
        }
        steps
    }

    fn name(&self, file: usize) -> &str {
        &self.of.files[file].path
    }
}

/// Strongly connected components, by Tarjan.
fn components(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        next,
        index: vec![None; next.len()],
        low: vec![0; next.len()],
        open: vec![false; next.len()],
        stack: Vec::new(),
        count: 0,
        found: Vec::new(),
    };
    for node in 0..next.len() {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    search.found
}

struct Search<'a> {
    next: &'a [Vec<usize>],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    open: Vec<bool>,
    stack: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, node: usize) {
        let index = self.count;
        self.count += 1;
        self.index[node] = Some(index);
        self.low[node] = index;
        self.stack.push(node);
        self.open[node] = true;
        for &to in &self.next[node] {
            match self.index[to] {
                None => {
                    self.visit(to);
                    self.low[node] = self.low[node].min(self.low[to]);
                }
                Some(seen) if self.open[to] => self.low[node] = self.low[node].min(seen),
                Some(_) => {}
            }
        }
        if self.low[node] == index {
            let mut component = Vec::new();
            while let Some(member) = self.stack.pop() {
                self.open[member] = false;
                component.push(member);
                if member == node {
                    break;
                }
            }
            self.found.push(component);
        }
    }
}

//! Directories of which it is not known yet whether they are places or collections.

use super::directory::Directory;
use super::jobs::Plan;

/// What was found in each directory, held back until something shows that it is a collection. When nothing does, what was held back is
/// dropped: the directory is a place, and what it holds are its files.
pub(super) struct Undecided<'p, R> {
    directories: &'p [Directory],
    /// What is held back; `None` of one that is a collection.
    held: Vec<Option<Vec<R>>>,
    /// The number of the last task of each.
    last: Vec<Option<usize>>,
}

impl<'p, R> Undecided<'p, R> {
    pub(super) fn new(plan: &'p Plan) -> Undecided<'p, R> {
        let of = plan.directories.len();
        let mut last = vec![None; of];
        for (number, task) in plan.tasks.iter().enumerate() {
            if let Some(last) = task.of.and_then(|of| last.get_mut(of)) {
                *last = Some(number);
            }
        }
        Undecided {
            directories: &plan.directories,
            held: (0..of).map(|_| Some(Vec::new())).collect(),
            last,
        }
    }

    /// Takes a result; hands it on, with those before it, as soon as it is known that it counts.
    pub(super) fn take(
        &mut self,
        of: Option<usize>,
        tells: bool,
        piece: R,
        deliver: &mut dyn FnMut(R),
    ) {
        let Some(held) = of.and_then(|of| self.held.get_mut(of)) else {
            return deliver(piece);
        };
        match held {
            Some(pieces) if !tells => pieces.push(piece),
            _ => {
                held.take().into_iter().flatten().for_each(&mut *deliver);
                deliver(piece);
            }
        }
    }

    /// Ends a task: a directory of which this was the last, and that is no collection, is a place.
    pub(super) fn done(
        &mut self,
        number: usize,
        place: impl Fn(&Directory) -> R,
        deliver: &mut dyn FnMut(R),
    ) {
        for (of, directory) in self.directories.iter().enumerate() {
            if self.last.get(of) == Some(&Some(number))
                && let Some(Some(_)) = self.held.get(of)
            {
                self.held[of] = None;
                deliver(place(directory));
            }
        }
    }
}

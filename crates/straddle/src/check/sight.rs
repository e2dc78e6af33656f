//! What looking at a file comes to.

use super::CheckError;
use crate::io::Target;
use crate::report::Taken;
use crate::sources::captured::Capture;
use crate::stack::{Key, LayerKind, Stack};

/// How a path came into the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Named on the command line.
    Named,
    /// Found in a directory or an archive.
    Listed,
}

/// What looking at something came to.
pub(super) type Found = Result<Sight, CheckError>;

/// What was seen in a file.
pub(super) enum Sight {
    /// Nothing that is known.
    Nothing,
    /// Text that mentions what tools print, far down.
    Mention,
    /// A stack.
    Stack(Stack),
    /// A stack of what could have been something else.
    Taken(Stack, Taken),
    /// Text about several machines.
    Machines(Vec<Capture>),
    /// Something packed, or an archive: what is in it is looked at when it is its turn.
    Boxed(Box<Target>, Origin),
}

impl Sight {
    /// The stack, where it is one.
    pub(super) fn stack(&self) -> Option<&Stack> {
        match self {
            Sight::Stack(stack) | Sight::Taken(stack, _) => Some(stack),
            Sight::Nothing | Sight::Mention | Sight::Machines(_) | Sight::Boxed(..) => None,
        }
    }
}

/// True for a stack with something that lies on a disk: a partition, a filesystem, a virtual disk, a member of an array.
pub(super) fn is_disk_image(stack: &Stack) -> bool {
    stack.layers().iter().any(|layer| {
        matches!(
            layer.kind,
            LayerKind::Partition | LayerKind::Filesystem | LayerKind::Container
        ) || layer.attribute(Key::PartitionTable).is_some()
            // A member of an array, a volume group or the like.
            || layer.attribute(Key::Holds).is_some()
    })
}

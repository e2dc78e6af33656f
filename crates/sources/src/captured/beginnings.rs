//! Where outputs begin: all anchors of all tools, so arranged that a line is compared with few of them.

use super::text::{Bytes, Line};
use super::tool::{Anchor, Notes, Reader, Section, Tool};

pub(super) type ReadText = fn(&Section<'_>, &mut Notes<'_>);

struct Candidate {
    /// Its place in the registry: where two recognise the same text, the first has it.
    rank: usize,
    tool: &'static Tool,
    anchor: Anchor,
    /// The bytes of the anchor's text.
    bytes: Bytes,
    begins: fn(&[Line<'_>]) -> bool,
    read: ReadText,
}

/// The anchors of some tools.
pub(super) struct Beginnings {
    /// Those that a line must begin with, by their first byte.
    starts: Vec<Vec<Candidate>>,
    /// Those that may stand anywhere, and those that look at the whole line.
    within: Vec<Candidate>,
}

impl Beginnings {
    pub(super) fn of(tools: &'static [&'static Tool]) -> Beginnings {
        let mut found = Beginnings {
            starts: (0..256).map(|_| Vec::new()).collect(),
            within: Vec::new(),
        };
        for (rank, tool) in tools.iter().enumerate() {
            for reader in tool.readers {
                let Reader::Text {
                    anchors,
                    begins,
                    read,
                } = reader
                else {
                    continue;
                };
                for anchor in *anchors {
                    let (text, list) = match anchor {
                        Anchor::Start(text) | Anchor::Loose(text) => {
                            let first = text.bytes().next().unwrap_or_default();
                            (*text, &mut found.starts[usize::from(first)])
                        }
                        Anchor::Within(text) | Anchor::Without(text) => (*text, &mut found.within),
                        Anchor::Shaped(_) | Anchor::LooseShaped(_) => ("", &mut found.within),
                    };
                    list.push(Candidate {
                        rank,
                        tool,
                        anchor: *anchor,
                        bytes: Bytes::of(text),
                        begins: *begins,
                        read: *read,
                    });
                }
            }
        }
        found
    }

    /// The tool whose output begins in the first of these lines; `inside` is the one whose output the lines above are.
    pub(super) fn at(
        &self,
        rest: &[Line<'_>],
        inside: Option<&Tool>,
    ) -> Option<(&'static Tool, ReadText)> {
        let text = rest.first()?.text;
        let trimmed = text.trim_start();
        let first = trimmed.bytes().next()?;
        let bytes = Bytes::of(text);
        let start = self.starts[usize::from(first)].iter().find(|c| {
            let anchored = match c.anchor {
                Anchor::Start(start) => bytes.has_all(c.bytes) && trimmed.starts_with(start),
                Anchor::Loose(start) => {
                    bytes.has_all(c.bytes)
                        && trimmed.starts_with(start)
                        && inside.is_none_or(|tool| tool.name != c.tool.name)
                }
                _ => false,
            };
            anchored && (c.begins)(rest)
        });
        let before = start.map_or(usize::MAX, |c| c.rank);
        let within = self
            .within
            .iter()
            .take_while(|c| c.rank < before)
            .find(|c| {
                let anchored = match c.anchor {
                    Anchor::Within(part) => bytes.has_all(c.bytes) && text.contains(part),
                    Anchor::Without(_) => bytes.has_none(c.bytes),
                    Anchor::Shaped(is) => is(trimmed),
                    Anchor::LooseShaped(is) => {
                        inside.is_none_or(|tool| tool.name != c.tool.name) && is(trimmed)
                    }
                    Anchor::Start(_) | Anchor::Loose(_) => false,
                };
                anchored && (c.begins)(rest)
            });
        let found = within.or(start)?;
        Some((found.tool, found.read))
    }
}

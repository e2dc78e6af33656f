//! What an array that deals its addresses to members says of its stripes.

use straddle_geometry::{Grid, RaidLayout, Unit};

use crate::{Fact, GridRole, Key, Layer, Value};

impl Layer {
    /// Adds the stripe unit, the number of members whose bytes in a row are data, and for parity the full stripe, which is
    /// what a small write is rewritten within. `layout` is `None` for RAID 0; a mirror has none of these.
    pub fn add_stripes(&mut self, chunk: &Fact<Unit>, columns: usize, layout: Option<RaidLayout>) {
        let (data, how) = match layout {
            Some(RaidLayout::Mirror) => return,
            None => (Some(columns), "all".to_owned()),
            Some(RaidLayout::Parity(_)) => {
                (columns.checked_sub(1), format!("{columns} − 1 parity"))
            }
            Some(RaidLayout::DoubleParity(_)) => {
                (columns.checked_sub(2), format!("{columns} − 2 parity"))
            }
            // Reads go to all members, writes reach each chunk's copies elsewhere.
            Some(RaidLayout::Copies(copies)) if copies.near == 1 => {
                (Some(columns), "all".to_owned())
            }
            Some(RaidLayout::Copies(copies)) => (
                columns
                    .checked_div(copies.near)
                    .filter(|data| data.checked_mul(copies.near) == Some(columns)),
                format!("{columns} ÷ {} copies", copies.near),
            ),
        };
        self.add_grid(GridRole::StripeUnit, chunk.clone().map(Grid::new));
        let data = data.and_then(|data| u64::try_from(data).ok());
        let Some(data) = data.filter(|data| *data > 0) else {
            return;
        };
        let from = format!("{how} of {columns} members");
        self.set(Key::DataMembers, Fact::derived(Value::Count(data), from));
        if let Some(RaidLayout::Parity(_) | RaidLayout::DoubleParity(_)) = layout
            && let Some(full) = chunk.value.checked_mul(data)
        {
            let from = format!("{data} data members × {} B", chunk.value.bytes().grouped());
            self.add_grid(GridRole::FullStripe, Fact::derived(Grid::new(full), from));
        }
    }
}

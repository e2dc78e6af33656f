//! The writer of every CSV form: each cell passes [`escape::cell`](crate::escape::cell).

use std::io::Write;

use crate::escape::cell;

/// Writes records whose cells no spreadsheet takes for formulas.
pub(crate) struct Cells<W: Write>(csv::Writer<W>);

impl<W: Write> Cells<W> {
    pub(crate) fn new(out: W) -> Cells<W> {
        Cells(csv::Writer::from_writer(out))
    }

    pub(crate) fn record<C: AsRef<str>>(
        &mut self,
        cells: impl IntoIterator<Item = C>,
    ) -> csv::Result<()> {
        for text in cells {
            self.0.write_field(cell(text.as_ref()).as_bytes())?;
        }
        // No field more: ends the record.
        self.0.write_record(None::<&[u8]>)
    }

    pub(crate) fn end(mut self) -> csv::Result<()> {
        Ok(self.0.flush()?)
    }
}

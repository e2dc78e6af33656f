//! Files of Python: what `pyarrow.fs` and `open` give.

use std::io;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use straddle::geometry::Bytes;
use straddle::io::ReadAt;

/// A file that is read through its own methods: `read_at(n, offset)` where it has that, else `seek` and `read`.
pub(crate) struct PyFile {
    file: Py<PyAny>,
    size: u64,
    has_read_at: bool,
}

impl PyFile {
    pub(crate) fn new(file: &Bound<'_, PyAny>) -> PyResult<PyFile> {
        let size = match file.call_method0("size") {
            Ok(size) => size.extract()?,
            Err(_) => file.call_method1("seek", (0, 2))?.extract()?,
        };
        Ok(PyFile {
            file: file.clone().unbind(),
            size,
            has_read_at: file.hasattr("read_at")?,
        })
    }
}

impl ReadAt for PyFile {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let offset = offset.get();
        if offset >= self.size {
            return Ok(0);
        }
        Python::attach(|py| {
            let file = self.file.bind(py);
            let read = match self.has_read_at {
                true => file.call_method1("read_at", (buf.len(), offset))?,
                false => {
                    file.call_method1("seek", (offset,))?;
                    file.call_method1("read", (buf.len(),))?
                }
            };
            let read = read.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes();
            let len = read.len().min(buf.len());
            buf[..len].copy_from_slice(&read[..len]);
            Ok(len)
        })
        .map_err(|error: PyErr| io::Error::other(error.to_string()))
    }
}

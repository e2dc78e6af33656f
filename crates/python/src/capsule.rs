//! Batches of other libraries, by Arrow's `PyCapsule` interface: they stay where they are, and are given back when they were counted.
#![expect(unsafe_code, reason = "capsules hold pointers")]

use arrow_array::RecordBatch;
use arrow_array::StructArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

/// Batches, one after the other.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// The batches of an object with `__arrow_c_stream__` or `__arrow_c_array__`; `None` when it has neither.
pub(crate) fn batches(object: &Bound<'_, PyAny>) -> PyResult<Option<Batches>> {
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        return Ok(Some(Box::new(stream(capsule.cast::<PyCapsule>()?)?)));
    }
    if object.hasattr("__arrow_c_array__")? {
        let both = object.call_method0("__arrow_c_array__")?;
        let both = both.cast::<PyTuple>()?;
        let (schema, array) = (both.get_item(0)?, both.get_item(1)?);
        let batch = array_of(schema.cast::<PyCapsule>()?, array.cast::<PyCapsule>()?)?;
        return Ok(Some(Box::new(std::iter::once(Ok(batch)))));
    }
    Ok(None)
}

fn no_batch(error: &ArrowError) -> PyErr {
    PyTypeError::new_err(error.to_string())
}

fn stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<RecordBatchStreamReader> {
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name holds a pointer to such a structure, which is ours to take once: what was taken is marked
    // as released, and the capsule keeps the memory of the structure itself.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) };
    RecordBatchStreamReader::try_new(stream).map_err(|error| no_batch(&error))
}

fn array_of(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<RecordBatch> {
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?;
    let array = array.pointer_checked(Some(c"arrow_array"))?;
    // SAFETY: capsules of these names hold pointers to such structures, which are ours to take once; see above.
    let (schema, array) = unsafe {
        (
            FFI_ArrowSchema::from_raw(schema.cast().as_ptr()),
            FFI_ArrowArray::from_raw(array.cast().as_ptr()),
        )
    };
    // SAFETY: whoever made the array made the schema for it, which the interface demands.
    let data = unsafe { from_ffi(array, &schema) }.map_err(|error| no_batch(&error))?;
    if !matches!(data.data_type(), arrow_schema::DataType::Struct(_)) {
        return Err(PyTypeError::new_err(format!(
            "an array of {}; expected a batch with columns",
            data.data_type()
        )));
    }
    let rows = StructArray::from(data);
    if arrow_array::Array::null_count(&rows) > 0 {
        return Err(PyTypeError::new_err("a batch of which whole rows are null"));
    }
    Ok(RecordBatch::from(rows))
}

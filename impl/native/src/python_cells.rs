//! A Python buffer of doubles that several threads read and write while Python's own may do so, too: each double a word, read and written as a
//! whole. With `spin_slot` the only unsafe code.
#![allow(unsafe_code)]
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;

/// A buffer of doubles in one piece. While it lives, its owner neither moves nor frees it.
pub struct Cells {
    buffer: PyUntypedBuffer,
    number: usize,
}

impl Cells {
    pub fn of(object: &Bound<'_, PyAny>, what: &str, writable: bool) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        let number = buffer.item_count();
        if number > 0 || buffer.format() != c"d" {
            buffer.as_typed::<f64>()?; // where there is nothing, it points nowhere
        }
        if writable && buffer.readonly() {
            return Err(PyBufferError::new_err(format!("{what} must be writable")));
        }
        if !buffer.is_c_contiguous() || number > 0 && !buffer.buf_ptr().cast::<AtomicU64>().is_aligned() {
            return Err(PyValueError::new_err(format!("{what} must be doubles in one piece, aligned")));
        }
        Ok(Cells { buffer, number })
    }

    pub fn len(&self) -> usize {
        self.number
    }

    #[inline(always)]
    fn cell(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.number, "index {index} of {}", self.number);
        // SAFETY: the buffer is exported while `self` lives: its memory stays where it is, `number` doubles of 8 bytes from an aligned
        // pointer, in one piece (checked in `of`). A word of 64 bits that is only read and written atomically may be shared; what Python's
        // own threads write meanwhile are aligned 64-bit words, too. Read-only memory is only read: `set` is for what was found writable.
        unsafe { AtomicU64::from_ptr(self.buffer.buf_ptr().cast::<u64>().add(index)) }
    }

    #[inline(always)]
    pub fn get(&self, index: usize) -> f64 {
        f64::from_bits(self.cell(index).load(Ordering::Relaxed))
    }

    #[inline(always)]
    pub fn set(&self, index: usize, value: f64) {
        debug_assert!(!self.buffer.readonly());
        self.cell(index).store(value.to_bits(), Ordering::Relaxed);
    }
}

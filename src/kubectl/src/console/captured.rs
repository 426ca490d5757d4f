//! A console that a test reads.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// What was written to a console of a test.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    out: Rc<RefCell<Vec<u8>>>,
    err: Rc<RefCell<Vec<u8>>>,
}

impl Captured {
    pub(super) fn sinks(&self) -> (Sink, Sink) {
        (Sink(Rc::clone(&self.out)), Sink(Rc::clone(&self.err)))
    }

    /// Data.
    #[must_use]
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.out.borrow()).into_owned()
    }

    /// Talk.
    #[must_use]
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.err.borrow()).into_owned()
    }
}

/// One stream of it.
pub(super) struct Sink(Rc<RefCell<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! A console that a test reads.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::rc::Rc;

use super::drawn::Size;

/// What was written to a test's console.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    out: Rc<RefCell<Vec<u8>>>,
    err: Rc<RefCell<Vec<u8>>>,
    resized: Rc<Cell<Option<(usize, usize)>>>,
}

impl Captured {
    pub(super) fn sinks(&self) -> (Sink, Sink) {
        (Sink(Rc::clone(&self.out)), Sink(Rc::clone(&self.err)))
    }

    pub(super) fn size(&self) -> Size {
        let resized = Rc::clone(&self.resized);
        Box::new(move || resized.get())
    }

    /// The standard output.
    #[must_use]
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.out.borrow()).into_owned()
    }

    /// The standard error.
    #[must_use]
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.err.borrow()).into_owned()
    }

    /// Sets the size of its screen.
    pub fn resize(&self, width: usize, height: usize) {
        self.resized.set(Some((width, height)));
    }
}

/// One of its streams.
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

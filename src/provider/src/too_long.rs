//! Why an answer of an API server was not read to its end.

use std::error::Error;

use thiserror::Error;

/// Why an answer was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TooLong {
    /// One answer has too many bytes.
    #[error("its answer is longer than {0} bytes")]
    Bytes(usize),
    /// One answer has too many small values.
    #[error("its answer is longer than {0} values")]
    Values(usize),
    /// One page of a list has too many objects.
    #[error("its answer is longer than {0} objects")]
    Objects(usize),
    /// All pages of a list have too many bytes.
    #[error("its list is longer than {0} bytes")]
    List(usize),
    /// Other clusters have used up the pool.
    #[error("its answer is longer than the memory that is free for answers now")]
    Room,
}

impl TooLong {
    /// Finds this error among the causes of another.
    #[must_use]
    pub fn among<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }
}

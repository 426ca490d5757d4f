//! What a node is asked to plan for.

use std::fmt;
use std::str::FromStr;

use crate::id::{Malformed, UpgradeId};
use crate::names;
use crate::target::{ACCEPTED_WANTED, Wanted};

/// The value of [`crate::names::PLAN`]: an image, and an id that distinguishes the question from an
/// earlier identical one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The image to plan for.
    pub image: Wanted,
    /// The question's own id.
    pub id: Option<UpgradeId>,
}

impl FromStr for Question {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let (image, id) = match text.split_once(' ') {
            None => (text, None),
            Some((image, id)) => (image, Some(id.parse()?)),
        };
        let of_plan = |bad: Malformed| bad.of(names::PLAN, ACCEPTED_WANTED);
        let image = image.parse().map_err(of_plan)?;
        Ok(Self { image, id })
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.image)?;
        self.id.as_ref().map_or(Ok(()), |id| write!(f, " {id}"))
    }
}

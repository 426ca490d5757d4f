//! Lists objects of a workload cluster whose API server may lie: facts are kept page by page, and
//! a list has a budget of objects, bytes and time.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use kube::api::{Api, ListParams};
use serde::de::DeserializeOwned;

use crate::clusters::Size;
use crate::writes::{WriteError, limited};

/// How many objects one list request returns, as the agent's drain has it.
const PAGE: u32 = 100;

/// The most bytes of facts in one list.
const BYTES: usize = 16 << 20;

/// How long all pages of a list may take together.
const TIME: Duration = Duration::from_secs(60);

/// Lists at most so many objects page by page, and keeps what `fact` makes of each.
///
/// # Errors
/// The server does not answer, refuses, or does not end its list.
pub(super) async fn list<K, F>(
    api: &Api<K>,
    all: ListParams,
    most: usize,
    fact: impl Fn(K) -> Option<F>,
) -> Result<Vec<F>, WriteError>
where
    K: Clone + Debug + DeserializeOwned,
    F: Size,
{
    let begun = Instant::now();
    let (mut page, mut found) = (all.clone().limit(PAGE), Found::new(most));
    loop {
        let listed = limited(api.list(&page)).await?;
        found.add(listed.items, &fact)?;
        match listed.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => page = all.clone().limit(PAGE).continue_token(&next),
            None => return Ok(found.facts),
        }
        in_time(begun.elapsed())?;
    }
}

fn in_time(elapsed: Duration) -> Result<(), WriteError> {
    match elapsed > TIME {
        true => Err(endless(format!("takes longer than {TIME:?}"))),
        false => Ok(()),
    }
}

/// A retry does not help: a person must look at the server.
fn endless(what: String) -> WriteError {
    WriteError::Refused(format!("its list does not end: it {what}"))
}

/// The facts of a list so far.
struct Found<F> {
    facts: Vec<F>,
    objects: usize,
    bytes: usize,
    most: usize,
}

impl<F: Size> Found<F> {
    const fn new(most: usize) -> Self {
        Self {
            facts: Vec::new(),
            objects: 0,
            bytes: 0,
            most,
        }
    }

    fn add<K>(&mut self, page: Vec<K>, fact: impl Fn(K) -> Option<F>) -> Result<(), WriteError> {
        self.objects += page.len();
        if self.objects > self.most {
            return Err(endless(format!("has more than {} objects", self.most)));
        }
        for fact in page.into_iter().filter_map(fact) {
            self.bytes += fact.size();
            if self.bytes > BYTES {
                return Err(endless(format!("has more than {BYTES} bytes")));
            }
            self.facts.push(fact);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Heavy(usize);

    impl Size for Heavy {
        fn size(&self) -> usize {
            self.0
        }
    }

    fn why(result: Result<(), WriteError>) -> String {
        result.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn list_without_an_end_is_given_up_by_its_objects() {
        let mut found = Found::<Heavy>::new(250);
        let page = || vec![(); 100];
        assert!(found.add(page(), |()| None).is_ok());
        assert!(found.add(page(), |()| None).is_ok());
        let why = why(found.add(page(), |()| None));
        assert_eq!(
            why,
            "refused: its list does not end: it has more than 250 objects"
        );
    }

    #[test]
    fn list_without_an_end_is_given_up_by_its_bytes() {
        let mut found = Found::new(250);
        let heavy = |()| Some(Heavy(BYTES / 2));
        assert!(found.add(vec![(), ()], heavy).is_ok());
        let why = why(found.add(vec![()], heavy));
        assert!(why.ends_with("it has more than 16777216 bytes"), "{why}");
        assert_eq!(found.facts.len(), 2);
    }

    #[test]
    fn list_of_empty_pages_is_given_up_by_its_time() {
        assert!(in_time(TIME).is_ok());
        let why = why(in_time(TIME + Duration::from_secs(1)));
        assert!(why.ends_with("it takes longer than 60s"), "{why}");
    }
}

//! A node's report on its Node, as careen-provider and kubectl-careen read it. Root on the node
//! writes it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use upgrade::history::Past;
use upgrade::plan::Plan;
use upgrade::report::Status;

/// A parsed report that is printed parses again to the same content. The parser ignores additional
/// fields of a newer agent.
pub fn check(input: &[u8]) {
    told::<Status>(input);
    told::<Plan>(input);
    told::<Vec<Past>>(input);
}

fn told<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(input: &[u8]) {
    let Ok(one) = serde_json::from_slice::<T>(input) else {
        return;
    };
    let printed = serde_json::to_value(&one).unwrap_or_default();
    let again = |value: serde_json::Value| serde_json::from_value::<T>(value).ok();
    assert_eq!(again(printed.clone()).as_ref(), Some(&one), "{printed}");
    if let serde_json::Value::Object(mut fields) = printed {
        fields.insert("ofANewerAgent".to_owned(), serde_json::json!({"a": [1]}));
        assert_eq!(again(fields.into()).as_ref(), Some(&one));
    }
}

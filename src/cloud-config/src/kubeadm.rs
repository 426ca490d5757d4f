//! The identity of the Node, in the configuration of kubeadm. The host writes it itself, so no
//! template needs to know it. A kubelet cannot change its providerID later.

use serde_json::{Map, Value, json};

use crate::facts::Facts;
use crate::files::File;
use crate::refused::Refused;

/// The group in `apiVersion` of kubeadm's configuration.
const GROUP: &str = "kubeadm.k8s.io/";

/// The kinds that register a Node.
const KINDS: [&str; 2] = ["InitConfiguration", "JoinConfiguration"];

/// Where the kubeadm bootstrap provider puts its configuration. A file there must be readable.
const FOLDER: &str = "/run/kubeadm/";

/// The label of a failure domain. A kubelet may set it on its own Node (Kubernetes,
/// `NodeRestriction`).
const ZONE: &str = "topology.kubernetes.io/zone";

const PROVIDER_ID: &str = "provider-id";
const NODE_LABELS: &str = "node-labels";

/// Writes providerID and failure domain into each configuration that registers a Node. The other
/// documents of the file stay as they are, letter by letter.
pub(crate) fn identify(files: &mut [File], facts: &Facts) -> Result<(), Refused> {
    if facts
        .failure_domain
        .as_deref()
        .is_some_and(|name| !is_label(name))
    {
        return Err(Refused::FailureDomain);
    }
    let mut found = 0;
    for file in files {
        let Some(text) = of_kubeadm(file) else {
            continue;
        };
        let (text, count) = identified(&file.path, &text, facts)?;
        if count > 0 {
            file.content = text.into_bytes();
        }
        found += count;
    }
    if found == 0 {
        return Err(Refused::NoKubeadm);
    }
    Ok(())
}

fn of_kubeadm(file: &File) -> Option<String> {
    let text = std::str::from_utf8(&file.content).ok()?;
    text.contains(GROUP).then(|| text.to_owned())
}

/// The text with the identity, and how many documents have got it.
fn identified(path: &str, text: &str, facts: &Facts) -> Result<(String, usize), Refused> {
    let mut count = 0;
    let mut all = Vec::new();
    for part in documents(text) {
        match registers(path, part)? {
            None => all.push(part.to_owned()),
            Some(document) => {
                let written = Document::new(path, document).identified(facts)?;
                // JSON is YAML.
                all.push(format!("{written}\n"));
                count += 1;
            }
        }
    }
    Ok((all.join("---\n"), count))
}

/// The documents of a file, split where kubeadm splits it: at lines of three hyphens.
fn documents(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            parts.push(&text[begin..at]);
            begin = at + line.len();
        }
        at += line.len();
    }
    parts.push(&text[begin..]);
    parts
}

/// The document, if it registers a Node. Text that is not YAML may be a script outside kubeadm's
/// folder.
fn registers(path: &str, part: &str) -> Result<Option<Map<String, Value>>, Refused> {
    match serde_saphyr::from_str::<Value>(part) {
        Ok(Value::Object(document)) => {
            let kind = document.get("kind").and_then(Value::as_str);
            let is_ours =
                kind.is_some_and(|kind| KINDS.contains(&kind)) && is_of_kubeadm(&document);
            Ok(is_ours.then_some(document))
        }
        Ok(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
        ) => Ok(None),
        Err(_) if path.starts_with(FOLDER) => Err(Refused::KubeadmYaml {
            path: path.to_owned(),
        }),
        Err(_) => Ok(None),
    }
}

fn is_of_kubeadm(document: &Map<String, Value>) -> bool {
    let version = document.get("apiVersion").and_then(Value::as_str);
    version.is_some_and(|version| version.starts_with(GROUP))
}

/// The form of `kubeletExtraArgs`.
#[derive(Clone, Copy)]
enum Form {
    /// Up to v1beta3.
    Map,
    /// From v1beta4 on, a list of names and values.
    List,
}

/// A document that registers a Node.
struct Document<'a> {
    path: &'a str,
    kind: String,
    all: Map<String, Value>,
}

impl<'a> Document<'a> {
    fn new(path: &'a str, all: Map<String, Value>) -> Self {
        let kind = all.get("kind").and_then(Value::as_str);
        Self {
            path,
            kind: kind.unwrap_or_default().to_owned(),
            all,
        }
    }

    fn identified(mut self, facts: &Facts) -> Result<String, Refused> {
        let form = self.form()?;
        let mut node = self.take("nodeRegistration")?;
        let arguments = node.remove("kubeletExtraArgs").unwrap_or(Value::Null);
        let mut arguments = self.arguments(form, arguments)?;
        self.set_provider_id(&mut arguments, &facts.provider_id)?;
        if let Some(domain) = &facts.failure_domain {
            self.set_zone(&mut arguments, domain)?;
        }
        node.insert("kubeletExtraArgs".to_owned(), written(form, arguments));
        self.all
            .insert("nodeRegistration".to_owned(), Value::Object(node));
        Ok(Value::Object(self.all).to_string())
    }

    fn form(&self) -> Result<Form, Refused> {
        let version = self.all.get("apiVersion").and_then(Value::as_str);
        match version.and_then(|version| version.strip_prefix(GROUP)) {
            Some("v1beta3") => Ok(Form::Map),
            Some("v1beta4") => Ok(Form::List),
            Some(_) | None => Err(Refused::KubeadmVersion {
                path: self.path.to_owned(),
                kind: self.kind.clone(),
            }),
        }
    }

    /// Takes a mapping out, which may be absent.
    fn take(&mut self, field: &'static str) -> Result<Map<String, Value>, Refused> {
        match self.all.remove(field) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(found)) => Ok(found),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                Err(self.wrong(field))
            }
        }
    }

    fn arguments(&self, form: Form, value: Value) -> Result<Vec<(String, String)>, Refused> {
        let wrong = || self.wrong("nodeRegistration.kubeletExtraArgs");
        match (form, value) {
            (Form::Map | Form::List, Value::Null) => Ok(Vec::new()),
            (Form::Map, Value::Object(map)) => {
                let text = |(name, value): (String, Value)| Some((name, text(&value)?));
                map.into_iter()
                    .map(text)
                    .collect::<Option<_>>()
                    .ok_or_else(wrong)
            }
            (Form::List, Value::Array(list)) => list
                .iter()
                .map(pair)
                .collect::<Option<_>>()
                .ok_or_else(wrong),
            (Form::Map | Form::List, _) => Err(wrong()),
        }
    }

    fn set_provider_id(
        &self,
        arguments: &mut Vec<(String, String)>,
        wanted: &str,
    ) -> Result<(), Refused> {
        let mut others = arguments.iter().filter(|(name, _)| name == PROVIDER_ID);
        if others.any(|(_, value)| value != wanted) {
            return Err(self.another(PROVIDER_ID));
        }
        arguments.retain(|(name, _)| name != PROVIDER_ID);
        arguments.push((PROVIDER_ID.to_owned(), wanted.to_owned()));
        Ok(())
    }

    /// The kubelet joins the labels of all `node-labels` (Kubernetes, `ConfigurationMap.Set`).
    fn set_zone(&self, arguments: &mut Vec<(String, String)>, domain: &str) -> Result<(), Refused> {
        let wanted = format!("{ZONE}={domain}");
        let given = arguments.iter().filter(|(name, _)| name == NODE_LABELS);
        let labels = given.flat_map(|(_, value)| value.split(','));
        let mut labels: Vec<_> = labels.filter(|label| !label.is_empty()).collect();
        let of_zone = |label: &&&str| label.split('=').next() == Some(ZONE);
        if labels.iter().filter(of_zone).any(|label| *label != wanted) {
            return Err(self.another(NODE_LABELS));
        }
        if !labels.contains(&wanted.as_str()) {
            labels.push(&wanted);
        }
        let labels = labels.join(",");
        arguments.retain(|(name, _)| name != NODE_LABELS);
        arguments.push((NODE_LABELS.to_owned(), labels));
        Ok(())
    }

    fn another(&self, argument: &'static str) -> Refused {
        Refused::Argument {
            path: self.path.to_owned(),
            kind: self.kind.clone(),
            argument,
        }
    }

    fn wrong(&self, field: &'static str) -> Refused {
        Refused::KubeadmForm {
            path: self.path.to_owned(),
            kind: self.kind.clone(),
            field,
        }
    }
}

/// kubeadm takes texts only, and YAML writes some of them without quotation marks.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn pair(value: &Value) -> Option<(String, String)> {
    let name = value.get("name")?.as_str()?;
    Some((name.to_owned(), text(value.get("value")?)?))
}

fn written(form: Form, arguments: Vec<(String, String)>) -> Value {
    match form {
        Form::Map => arguments
            .into_iter()
            .map(|(name, value)| (name, Value::String(value)))
            .collect(),
        Form::List => {
            let one = |(name, value)| json!({ "name": name, "value": value });
            arguments.into_iter().map(one).collect()
        }
    }
}

/// A value of a label (Kubernetes, `IsValidLabelValue`), and not an empty one.
fn is_label(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= 63
        && name.chars().all(is_inner)
        && is_outer(name.chars().next())
        && is_outer(name.chars().next_back())
}

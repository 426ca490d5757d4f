//! The table of `kubectl careen host list`.

use serde::Serialize;

use super::look::Look;
use super::table::{Cell, fitted, plain};

/// Columns that are dropped first on a narrow screen.
const LEAST: [&str; 5] = ["CORDONED", "VERSION", "DOMAIN", "MACHINE", "CLUSTER"];

/// One host.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub host: String,
    /// Its phase.
    pub phase: String,
    /// The Cluster that it serves.
    pub cluster: String,
    /// The Machine that it serves.
    pub machine: String,
    /// Its failure domain.
    pub domain: String,
    /// The Kubernetes version of its image.
    pub version: String,
    /// It is let in.
    pub approved: bool,
    /// It is not chosen.
    pub cordoned: bool,
    /// The code of the reason why it does not go on.
    pub reason: String,
    /// The sentence of the reason.
    pub message: String,
}

/// A line for each host.
#[must_use]
pub fn table(rows: &[Row], wide: bool, look: Look) -> String {
    if rows.is_empty() {
        return "No hosts. Create a HostRegistration, then run `kubectl careen host token`.\n"
            .to_owned();
    }
    let mut heads = vec!["HOST", "PHASE", "CLUSTER", "MACHINE"];
    if wide {
        heads.extend(["DOMAIN", "VERSION", "CORDONED"]);
    }
    heads.push("SAYS");
    let rows: Vec<Vec<Cell>> = rows.iter().map(|row| cells(row, wide)).collect();
    fitted(&heads, &rows, look, &LEAST)
}

fn cells(row: &Row, wide: bool) -> Vec<Cell> {
    let mut cells: Vec<Cell> = [&row.host, &row.phase, &row.cluster, &row.machine]
        .map(plain)
        .to_vec();
    if wide {
        let cordoned = if row.cordoned { "yes" } else { "" };
        cells.extend([plain(&row.domain), plain(&row.version), plain(cordoned)]);
    }
    cells.push(plain(says(row)));
    cells
}

/// What a person wants to know first.
fn says(row: &Row) -> String {
    match (row.approved, row.cordoned) {
        (false, _) => format!(
            "waits for approval: kubectl careen host approve {}",
            row.host
        ),
        (true, true) => format!("cordoned; {}", row.message),
        (true, false) => row.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(host: &str) -> Row {
        Row {
            host: host.to_owned(),
            phase: "Joined".to_owned(),
            cluster: "north".to_owned(),
            machine: "w-1".to_owned(),
            domain: "rack-a".to_owned(),
            version: "v1.36.3".to_owned(),
            approved: true,
            cordoned: false,
            reason: String::new(),
            message: "a node of its cluster".to_owned(),
        }
    }

    #[test]
    fn a_host_that_waits_for_approval_names_the_command() {
        let new = Row {
            approved: false,
            ..row("n-2")
        };
        let text = table(&[row("n-1"), new], false, Look::default());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "HOST  PHASE   CLUSTER  MACHINE  SAYS");
        assert_eq!(
            lines[1],
            "n-1   Joined  north    w-1      a node of its cluster"
        );
        assert!(
            lines[2].ends_with("kubectl careen host approve n-2"),
            "{text}"
        );
    }

    #[test]
    fn an_empty_list_says_how_to_begin() {
        let text = table(&[], false, Look::default());
        assert!(text.contains("HostRegistration"), "{text}");
    }
}

//! Puts each JSON document on one line. A watch is a sequence of documents, and a server may format
//! each as it likes: Go's clients read them by their braces. kube reads lines, and would reject an
//! indented watch at its first document.

/// The position in the sequence. A piece of a body may end anywhere.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The line has started.
    open: bool,
    held: Held,
}

/// The content of a document. A parser takes more memory for small values than their text has; for
/// some of them thirty times as much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// The approximate number of values: commas, colons and brackets.
    pub(crate) values: usize,
    /// Objects at depth two: the items of a list.
    pub(crate) objects: usize,
}

impl Documents {
    /// The next piece, with a line end after each document and none within it.
    pub(super) fn lines(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.len() + 1);
        for byte in piece {
            self.take(*byte, &mut out);
        }
        out
    }

    /// Counts the next piece without changing it.
    pub(crate) fn look(&mut self, piece: &[u8]) {
        piece.iter().for_each(|byte| self.step(*byte));
    }

    /// The counts of the open document so far.
    pub(crate) const fn held(&self) -> Held {
        self.held
    }

    fn take(&mut self, byte: u8, out: &mut Vec<u8>) {
        let in_string = self.in_string;
        self.step(byte);
        if in_string {
            out.push(byte);
            return;
        }
        if matches!(byte, b'\n' | b'\r') {
            // Text that is not a document, such as a proxy's error, keeps its lines.
            if self.depth == 0 {
                self.end(out);
            }
            return;
        }
        out.push(byte);
        self.open = true;
        if matches!(byte, b'}' | b']') && self.depth == 0 {
            self.end(out);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => self.in_string = self.depth > 0,
            b',' | b':' => self.held.values += 1,
            b'{' | b'[' => {
                self.held.values += 1;
                self.held.objects += usize::from(self.depth == 2);
                self.depth += 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.held = Held::default();
        if std::mem::take(&mut self.open) {
            out.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn events() -> [Value; 2] {
        let text = "a \"}\" in \\ it,\nand a line's end";
        let one = json!({ "type": "MODIFIED", "object": { "metadata": { "name": "a" }, "text": [text, {}] } });
        [
            one,
            json!({ "type": "BOOKMARK", "object": { "a": [[1], [2]] } }),
        ]
    }

    /// The result for pieces of this many bytes.
    fn read(body: &str, piece: usize) -> String {
        let mut documents = Documents::default();
        let pieces = body.as_bytes().chunks(piece);
        let lines: Vec<u8> = pieces.flat_map(|piece| documents.lines(piece)).collect();
        String::from_utf8(lines).expect("it was")
    }

    #[test]
    fn indented_documents_become_one_line_each_at_any_chunk_size() {
        let indented = events().map(|event| serde_json::to_string_pretty(&event).expect("JSON"));
        for body in [indented.concat(), indented.join("\r\n\r\n")] {
            for piece in [1, 2, 7, body.len()] {
                let lines = read(&body, piece);
                let documents = lines.lines().map(|line| serde_json::from_str(line).ok());
                let documents: Vec<Option<Value>> = documents.collect();
                assert_eq!(documents, events().map(Some), "{lines}");
            }
        }
    }

    #[test]
    fn single_line_documents_and_non_json_pass_through_unchanged() {
        let lines = events().map(|event| format!("{event}\n")).concat();
        for body in [lines.as_str(), "no \"upstream\nat the moment\n"] {
            assert_eq!(read(body, 5), body);
        }
    }

    #[test]
    fn documents_count_values_and_list_objects_outside_strings() {
        let mut documents = Documents::default();
        let list = br#"{"items": [{"a": "{,,:"}, {"b": [1, {}]}]}"#;
        for piece in list.chunks(3) {
            documents.look(piece);
        }
        let held = documents.held();
        assert_eq!(
            held,
            Held {
                values: 11,
                objects: 2
            }
        );
        let mut documents = Documents::default();
        documents.lines(b"{\"a\": [1, 2]}{\"a\":");
        assert_eq!(documents.held().values, 2, "of the last one alone");
    }
}

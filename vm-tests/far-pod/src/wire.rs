//! The messages between pod and rig: a byte for the kind, four for the length, then the content.

use std::io::{Error, ErrorKind, Read, Result, Write};

/// Far more than a file below /etc/kubernetes has.
const LONGEST: u32 = 16 << 20;

/// A message, in one direction or the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// From the pod: the image of the program to run.
    Image(String),
    /// From the pod: the id of the boot of its kernel.
    Boot(String),
    /// From the pod: the next word of the command line.
    Word(String),
    /// From the pod: a file that the program may read.
    File(String, Vec<u8>),
    /// From the pod: run it.
    Run,
    /// From the pod: it is still there.
    Alive,
    /// From the pod: send the program the signal of this name.
    Signal(String),
    /// From the pod: a connection to the program of this image at this address. What follows is
    /// the connection's.
    Connect(String, String),
    /// To the pod: what the program has said.
    Output(Vec<u8>),
    /// To the pod: the program has ended with this code.
    Ended(u8),
}

/// Writes a message in one piece.
///
/// # Errors
///
/// Fails when the other side is gone.
pub fn send(mut to: impl Write, message: &Message) -> Result<()> {
    let (kind, content) = taken_apart(message);
    let length = u32::try_from(content.len()).map_err(Error::other)?;
    let mut all = vec![kind];
    all.extend(length.to_be_bytes());
    all.extend(content);
    to.write_all(&all)?;
    to.flush()
}

/// Reads the next message.
///
/// # Errors
///
/// Fails when the other side is gone, or says something else.
pub fn receive(mut from: impl Read) -> Result<Message> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        return Err(wrong(format!("a message of {length} bytes")));
    }
    let mut content = vec![0; usize::try_from(length).map_err(Error::other)?];
    from.read_exact(&mut content)?;
    put_together(kind, content)
}

fn taken_apart(message: &Message) -> (u8, Vec<u8>) {
    match message {
        Message::Image(name) => (0, name.clone().into_bytes()),
        Message::Boot(id) => (1, id.clone().into_bytes()),
        Message::Word(word) => (2, word.clone().into_bytes()),
        Message::File(path, content) => (3, pair(path, content)),
        Message::Run => (4, Vec::new()),
        Message::Alive => (5, Vec::new()),
        Message::Signal(name) => (6, name.clone().into_bytes()),
        Message::Connect(image, address) => (7, pair(image, address.as_bytes())),
        Message::Output(content) => (8, content.clone()),
        Message::Ended(code) => (9, vec![*code]),
    }
}

fn put_together(kind: u8, content: Vec<u8>) -> Result<Message> {
    Ok(match kind {
        0 => Message::Image(text(content)?),
        1 => Message::Boot(text(content)?),
        2 => Message::Word(text(content)?),
        3 => {
            let (path, content) = halves(content)?;
            Message::File(path, content)
        }
        4 => Message::Run,
        5 => Message::Alive,
        6 => Message::Signal(text(content)?),
        7 => {
            let (image, address) = halves(content)?;
            Message::Connect(image, text(address)?)
        }
        8 => Message::Output(content),
        9 => Message::Ended(content.first().copied().unwrap_or(1)),
        other => return Err(wrong(format!("a message of kind {other}"))),
    })
}

/// A text, a zero byte, and the rest.
fn pair(text: &str, rest: &[u8]) -> Vec<u8> {
    [text.as_bytes(), &[0], rest].concat()
}

fn halves(mut content: Vec<u8>) -> Result<(String, Vec<u8>)> {
    let zero = content.iter().position(|byte| *byte == 0);
    let zero = zero.ok_or_else(|| wrong("a message without its second part".to_owned()))?;
    let rest = content.split_off(zero + 1);
    content.pop();
    Ok((text(content)?, rest))
}

fn text(content: Vec<u8>) -> Result<String> {
    String::from_utf8(content).map_err(|error| wrong(error.to_string()))
}

fn wrong(what: String) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_arrives_as_it_was_sent() {
        let all = [
            Message::Image("etcd:3.6.6-0".to_owned()),
            Message::Boot("1-2".to_owned()),
            Message::Word("--name=node1".to_owned()),
            Message::File("/etc/kubernetes/a".to_owned(), vec![0, 1, 2]),
            Message::Run,
            Message::Alive,
            Message::Signal("TERM".to_owned()),
            Message::Connect("etcd:3.6.6-0".to_owned(), "127.0.0.1:2379".to_owned()),
            Message::Output(b"line\n".to_vec()),
            Message::Ended(7),
        ];
        let mut line = Vec::new();
        for message in &all {
            send(&mut line, message).unwrap();
        }
        let mut line = line.as_slice();
        for message in all {
            assert_eq!(receive(&mut line).unwrap(), message);
        }
        assert!(receive(line).is_err(), "nothing is left");
    }

    #[test]
    fn anything_else_is_no_message() {
        assert!(receive(&b"GET / HTTP/1.1\r\n\r\n"[..]).is_err());
        assert!(receive(&[99, 0, 0, 0, 0][..]).is_err());
        assert!(receive(&[3, 0, 0, 0, 1, b'a'][..]).is_err());
    }
}

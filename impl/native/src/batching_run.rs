//! What came of a scenario of durable work: its requests, when user code went on, and all commands with what they showed.
use std::sync::Arc;

use crate::batching_trace::write;
use crate::batching_words::{Command, Seen};
use crate::trace::{integer, quoted};
use crate::words::Text;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub at: i64,
    pub updates: usize,
    pub refreshes: usize,
    /// Nothing but refreshes, and nothing was done.
    pub in_vain: bool,
}

/// Times are nanoseconds of the local clock.
#[derive(Debug, Default)]
pub struct Run {
    pub calls: Vec<Call>,
    /// Of the handler: done, failed: what, refused: why, suspended; blocked if it hangs.
    pub result: String,
    /// Suspended until: the service's stamp, or a local time.
    pub until: Option<i64>,
    /// When the handler returned.
    pub handler: Option<i64>,
    /// When the collector ended.
    pub exit: Option<i64>,
    /// When user code first went on with an attempt.
    pub reached: Vec<(Arc<str>, i64)>,
    /// The service's stamp of each attempt's scheduled end.
    pub ends: Vec<(String, i64)>,
    /// A line for each command: a list of it and of what was seen, in the notation of the specification.
    pub log: Vec<u8>,
}

impl Run {
    pub fn record(&mut self, command: &Command, at: i64, saw: &[Seen]) {
        let out = &mut self.log;
        out.extend_from_slice(b"[{\"do\":\"");
        Fields(out).command(command);
        integer_unless_zero(out, "at", at);
        out.extend_from_slice(b"},");
        write(out, saw);
        out.extend_from_slice(b"]\n");
    }
}

/// Writes the fields of a command that are not as they are if left out.
struct Fields<'a>(&'a mut Vec<u8>);

impl Fields<'_> {
    fn command(&mut self, command: &Command) {
        match command {
            Command::Submit(item) => {
                self.word("submit").text("id", &item.id).number("size", item.size);
                if !item.sync {
                    self.0.extend_from_slice(b",\"sync\":false");
                }
                self.flag("empty", item.empty).perhaps("parent", &item.parent).flag("ends", item.ends).flag("final", item.is_final);
            }
            Command::Refresh(asked) => {
                self.word("refresh").text("id", &asked.id).perhaps_number("key", asked.key).perhaps_number("due", asked.due);
                self.unless_empty("owner", &asked.owner).number("index", asked.index);
            }
            Command::Cancel { id, owner } => {
                self.word("cancel").perhaps("id", id).unless_empty("owner", owner);
            }
            Command::Credit { running, outside } => {
                self.word("credit").number("running", *running).number("outside", *outside);
            }
            Command::Stop => {
                self.word("stop");
            }
            Command::Pump => {
                self.word("pump");
            }
            Command::Respond { token, stamp, done, marker } => {
                self.word("respond").perhaps("token", token).perhaps_number("stamp", *stamp).list("done", done).perhaps("marker", marker);
            }
            Command::Page { done, marker } => {
                self.word("page").list("done", done).perhaps("marker", marker);
            }
            Command::Fail => {
                self.word("fail");
            }
        }
    }

    fn word(&mut self, word: &str) -> &mut Self {
        self.0.extend_from_slice(word.as_bytes());
        self.0.push(b'"');
        self
    }

    fn text(&mut self, name: &str, text: &str) -> &mut Self {
        key(self.0, name);
        quoted(self.0, text);
        self
    }

    fn unless_empty(&mut self, name: &str, text: &str) -> &mut Self {
        if text.is_empty() { self } else { self.text(name, text) }
    }

    fn perhaps(&mut self, name: &str, text: &Option<Text>) -> &mut Self {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    fn number(&mut self, name: &str, number: i64) -> &mut Self {
        integer_unless_zero(self.0, name, number);
        self
    }

    fn perhaps_number(&mut self, name: &str, number: Option<i64>) -> &mut Self {
        if let Some(number) = number {
            key(self.0, name);
            integer(self.0, b"", number);
        }
        self
    }

    fn flag(&mut self, name: &str, flag: bool) -> &mut Self {
        if flag {
            key(self.0, name);
            self.0.extend_from_slice(b"true");
        }
        self
    }

    fn list(&mut self, name: &str, names: &[Text]) -> &mut Self {
        for (i, text) in names.iter().enumerate() {
            if i == 0 {
                key(self.0, name);
            }
            self.0.push(if i == 0 { b'[' } else { b',' });
            quoted(self.0, text);
        }
        if !names.is_empty() {
            self.0.push(b']');
        }
        self
    }
}

fn key(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn integer_unless_zero(out: &mut Vec<u8>, name: &str, number: i64) {
    if number != 0 {
        key(out, name);
        integer(out, b"", number);
    }
}

//! Reads a file as this house writes it at a glance: the fields of its arrivals in order, no blanks, no escapes. If anything in it is
//! otherwise, or wrong, the whole of it is to be read as any JSON is.
use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Scenario;
use super::file::{FileGroup, Reader, Units};
use crate::words::GroupIn;

/// What comes before the arrivals.
const ARRIVALS: &str = "\"arrivals\":[";

/// A file whose arrivals were taken out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest<'a> {
    #[serde(rename = "name")]
    _name: String,
    #[serde(borrow)]
    capacity: Units<'a>,
    #[serde(borrow, default)]
    groups: Vec<FileGroup<'a>>,
    #[serde(rename = "arrivals")]
    _arrivals: [IgnoredAny; 0],
}

/// Nothing, if it is not written as this house writes it, or something is wrong with it.
pub(super) fn at(text: &str) -> Option<Scenario<'_>> {
    let first = text.find(ARRIVALS)? + ARRIVALS.len();
    let (mut scan, mut reader) = (Scan { text, at: first }, Reader::default());
    let likely = (text.len() - first) / 80;
    reader.scenario.arrivals.reserve(likely);
    reader.scenario.ids.reserve(likely);
    while scan.next() != Some(b']') {
        if scan.at > first {
            scan.token(",")?;
        }
        scan.token("{\"at\":")?;
        let at = scan.number()?;
        scan.token(",\"task\":{\"id\":")?;
        let id = scan.word()?;
        scan.token(",\"group\":")?;
        let group = scan.word()?;
        scan.token(",\"needs\":")?;
        let needs = scan.units()?;
        scan.token("},\"service\":")?;
        let service = scan.number()?;
        scan.token("}")?;
        reader.arrival(at, id.into(), group.into(), needs, service).ok()?;
    }
    // That was the list of arrivals and no part of a text, where quotes are escaped: nothing else may be so called.
    let rest = [&text[..first], &text[scan.at..]].concat();
    let rest: Rest = serde_json::from_str(&rest).ok()?;
    let owned = |group: GroupIn| GroupIn { name: Cow::Owned(group.name.into_owned()), spec: group.spec };
    let groups = rest.groups.into_iter().map(|group| group.group().map(owned)).collect::<Result<_, _>>().ok()?;
    Some(Scenario { capacity: rest.capacity.owned(), groups, ..reader.scenario })
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn token(&mut self, token: &str) -> Option<()> {
        let found = self.text.as_bytes().get(self.at..self.at + token.len())? == token.as_bytes();
        self.at += token.len();
        found.then_some(())
    }

    /// A number of at most 18 digits, none in vain.
    fn number(&mut self) -> Option<i64> {
        let (first, mut number) = (self.at, 0);
        while let Some(digit) = self.next().filter(u8::is_ascii_digit) {
            number = number * 10 + i64::from(digit - b'0');
            self.at += 1;
            if self.at > first + 18 {
                return None;
            }
        }
        let digits = self.at - first;
        (digits == 1 || (digits > 1 && self.text.as_bytes()[first] != b'0')).then_some(number)
    }

    /// A text without escapes.
    fn word(&mut self) -> Option<&'a str> {
        self.token("\"")?;
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
        let word = &self.text[self.at..self.at + length];
        self.at += length;
        self.token("\"")?;
        Some(word)
    }

    /// A dictionary, as it is written: without escapes, and no brace in a name.
    fn units(&mut self) -> Option<&'a str> {
        let (first, mut quotes) = (self.at, 0);
        self.token("{")?;
        loop {
            match self.next()? {
                b'}' => break,
                b'\\' => return None,
                byte => quotes += usize::from(byte == b'"'),
            }
            self.at += 1;
        }
        self.at += 1;
        (quotes % 2 == 0).then(|| &self.text[first..self.at])
    }
}

//! Reads a scenario from its file. Errors are one line that names what is wrong.
use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Arrival, Kind, Scenario, glance};
use crate::tables::Map;
use crate::trace::{named, spec, units, within};
use crate::words::{GroupIn, LATEST, Text};

/// A dictionary of units, in order; of a name that comes twice, the last number.
pub(super) struct Units<'a>(Vec<(Text<'a>, i64)>);

impl<'de: 'a, 'a> Deserialize<'de> for Units<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Units<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("units of resources")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut units: Vec<(Text<'de>, i64)> = Vec::new();
                while let Some((Word(name), amount)) = map.next_entry::<Word, i64>()? {
                    match units.iter_mut().find(|known| known.0 == name) {
                        Some(known) => known.1 = amount,
                        None => units.push((name, amount)),
                    }
                }
                Ok(Units(units))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

impl Units<'_> {
    pub(super) fn owned(self) -> Vec<(String, i64)> {
        self.0.into_iter().map(|(name, units)| (name.into_owned(), units)).collect()
    }
}

/// A text that is borrowed from the file wherever it holds no escapes.
#[derive(Deserialize)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'a> {
    #[serde(rename = "name")]
    _name: IgnoredAny,
    #[serde(borrow)]
    capacity: Units<'a>,
    #[serde(borrow, default)]
    groups: Vec<FileGroup<'a>>,
    #[serde(borrow)]
    arrivals: Vec<FileArrival<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileGroup<'a> {
    #[serde(borrow)]
    name: Word<'a>,
    weight: Option<f64>,
    share_limit: Option<i64>,
    running_limit: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileArrival<'a> {
    at: i64,
    #[serde(borrow)]
    task: FileTask<'a>,
    service: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTask<'a> {
    #[serde(borrow)]
    id: Word<'a>,
    #[serde(borrow)]
    group: Word<'a>,
    /// The same few texts again and again, so each is read once.
    #[serde(borrow)]
    needs: &'a RawValue,
}

impl<'a> FileGroup<'a> {
    pub(super) fn group(self) -> Result<GroupIn<'a>, String> {
        named("a group", &self.name.0)?;
        Ok(GroupIn { name: self.name.0, spec: spec(self.weight.unwrap_or(1.0), self.share_limit, self.running_limit)? })
    }
}

impl<'a> Scenario<'a> {
    /// Read the JSON of a scenario.
    pub fn read(json: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(json).map_err(|error| error.to_string())?;
        if let Some(scenario) = glance::at(text) {
            return Ok(scenario);
        }
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let groups = file.groups.into_iter().map(FileGroup::group).collect::<Result<Vec<_>, _>>()?;
        let mut reader = Reader::default();
        for FileArrival { at, task: FileTask { id, group, needs }, service } in file.arrivals {
            reader.arrival(at, id.0, group.0, needs.get(), service)?;
        }
        Ok(Scenario { capacity: file.capacity.owned(), groups, ..reader.scenario })
    }
}

/// What is read of the arrivals.
#[derive(Default)]
pub(super) struct Reader<'a> {
    pub(super) scenario: Scenario<'a>,
    /// The kind of the last, its group, and how its needs are written; and the same of all.
    last: Option<(Text<'a>, &'a str, u32)>,
    known: Map<(Text<'a>, &'a str), u32>,
}

impl<'a> Reader<'a> {
    pub(super) fn arrival(&mut self, at: i64, id: Text<'a>, group: Text<'a>, needs: &'a str, service: i64) -> Result<(), String> {
        let kind = match &self.last {
            Some((last, known, kind)) if *known == needs && *last == group => *kind,
            _ => {
                let kind = self.kind(&id, &group, needs)?;
                self.last = Some((group, needs, kind));
                kind
            }
        };
        named("a task's id", &id)?;
        let (at, service) = (within("at", at, 0, LATEST)?, within("service", service, 0, LATEST)?);
        self.scenario.arrivals.push(Arrival { at, service, kind });
        self.scenario.ids.push(id);
        Ok(())
    }

    /// `id` is that of the task that is read.
    fn kind(&mut self, id: &str, group: &Text<'a>, needs: &'a str) -> Result<u32, String> {
        let key = (group.clone(), needs);
        if let Some(&kind) = self.known.get(&key) {
            return Ok(kind);
        }
        let Units(asked) = serde_json::from_str(needs).map_err(|error| format!("needs of {id}: {error}"))?;
        named("a task's group", group)?;
        units(id, &asked)?;
        let kind = self.scenario.kinds.len() as u32;
        self.scenario.kinds.push(Kind { group: group.clone(), needs: asked });
        self.known.insert(key, kind);
        Ok(kind)
    }
}

//! What the trace files of all mechanisms have in common: the header, and a command line that may have any of a mechanism's fields.
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::trace::{FORMAT, Word, in_line};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "P: Deserialize<'de>, S: Deserialize<'de>"))]
pub struct Header<'a, P, S> {
    slotwise: i64,
    #[serde(borrow)]
    mechanism: Word<'a>,
    pub profile: P,
    pub setup: S,
    #[serde(default, rename = "seed")]
    _seed: IgnoredAny,
    #[serde(default, rename = "targets")]
    _targets: IgnoredAny,
    #[serde(default, rename = "note")]
    _note: IgnoredAny,
}

impl<'a, P: Deserialize<'a>, S: Deserialize<'a>> Header<'a, P, S> {
    /// Read the first line of a trace of that mechanism.
    pub fn read(line: &'a [u8], mechanism: &str) -> Result<Self, String> {
        let header: Self = serde_json::from_slice(line).map_err(in_line)?;
        if header.slotwise != FORMAT {
            return Err(format!("field `slotwise`: format {} is not known; this engine reads {FORMAT}", header.slotwise));
        }
        if header.mechanism.0 != mechanism {
            return Err(format!("field `mechanism`: expected {mechanism}, found {:?}", header.mechanism.0));
        }
        Ok(header)
    }
}

/// Define `Line`: any command of a mechanism, with all fields that any has. `given` names those that a line has.
macro_rules! define_line {
    ($($field:ident $name:literal: $kind:ty),* $(,)?) => {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Line<'a> {
            #[serde(borrow, rename = "do")]
            what: $crate::trace::Word<'a>,
            #[serde(default)]
            at: i64,
            $(#[serde(default, rename = $name)] $field: Option<$kind>,)*
            #[serde(default, rename = "saw")]
            _saw: serde::de::IgnoredAny,
            #[serde(default, rename = "rules")]
            _rules: serde::de::IgnoredAny,
        }

        impl Line<'_> {
            /// Has it a field that is not one of the command's?
            fn check(&self, fields: &[&str]) -> Result<(), String> {
                let given = [$(($name, self.$field.is_some())),*];
                match given.iter().find(|(field, is)| *is && !fields.contains(field)) {
                    Some((field, _)) => Err(format!("{} has no field `{field}`", self.what.0)),
                    None => Ok(()),
                }
            }
        }
    };
}
pub(crate) use define_line;

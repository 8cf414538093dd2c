//! Seeded faults. Without the `faults` feature `Faults` is a zero-sized type and `on` is a constant false: the engine has none of it.

/// The faults that the twin knows: name, rule, and what it does wrong.
#[cfg(feature = "faults")]
pub const CATALOGUE: &[(&str, &str, &str)] = &[];

#[cfg(feature = "faults")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults(Option<&'static str>);

#[cfg(feature = "faults")]
impl Faults {
    /// The fault of that name, or none if the catalogue has no such.
    pub fn named(name: &str) -> Option<Self> {
        CATALOGUE.iter().find(|known| known.0 == name).map(|known| Faults(Some(known.0)))
    }

    #[inline]
    pub fn on(self, name: &str) -> bool {
        self.0 == Some(name)
    }
}

#[cfg(not(feature = "faults"))]
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults;

#[cfg(not(feature = "faults"))]
impl Faults {
    #[inline(always)]
    pub const fn on(self, _name: &str) -> bool {
        false
    }
}

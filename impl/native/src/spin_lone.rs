//! A worker apart from the pool: its policy over one gap after another.
use crate::faults::Faults;
use crate::spin_policy::Policy;

#[derive(Clone, Debug)]
pub struct Lone {
    pub policy: Policy,
    /// Of its stretch, before the gap that comes.
    pub carried: i128,
    /// Of its stretch, once that has met a gap.
    pub window: Option<u64>,
    empty_catch_counts: bool,
    faults: Faults,
}

impl Lone {
    pub fn new(policy: Policy, empty_catch_counts: bool, faults: Faults) -> Self {
        Lone { policy, carried: 0, window: None, empty_catch_counts, faults }
    }

    /// Nothing to do for so long, then a publication; did it get a task of it? The window, whether it lasted, and the one of the next stretch.
    pub fn gap(&mut self, gap: i64, ran: bool) -> (u64, bool, u64) {
        let counts = self.empty_catch_counts || self.faults.on("catch_in_vain_is_forgotten");
        let gap = self.carried + i128::from(gap);
        let used = self.window.take().unwrap_or_else(|| self.policy.window());
        let caught = gap <= i128::from(used);
        if !caught {
            self.policy.shrink();
        } else if self.empty_catch_counts {
            self.policy.grow();
        }
        self.carried = 0;
        if ran {
            self.policy.grow();
        }
        if ran || counts {
            self.policy.learn(gap, used);
        } else {
            self.carried = gap;
            self.window = Some(used);
        }
        (used, caught, self.policy.window())
    }
}

//! What runs: the leases, and for each resource the oldest of those that hold some of it.
use std::collections::VecDeque;

use crate::ledger::{Needs, ShapeId};
use crate::tables::Map;

#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub group: u32,
    pub shape: ShapeId,
    pub at: i64,
}

/// Leases are numbered in the order of their starts, so the oldest on a resource is the first in line that has not ended. Those that
/// have ended leave the line when they come to its front, or when there are more of them than of the others.
#[derive(Clone, Debug, Default)]
struct Line {
    leases: VecDeque<(u64, i64)>,
    running: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Running {
    runs: Map<u64, Run>,
    lines: Vec<Line>,
}

impl Running {
    pub fn get(&self, lease: u64) -> Option<&Run> {
        self.runs.get(&lease)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&u64, &Run)> {
        self.runs.iter()
    }

    pub fn start(&mut self, lease: u64, run: Run, needs: &Needs) {
        self.runs.insert(lease, run);
        for &(r, _) in needs.iter() {
            let r = r as usize;
            if self.lines.len() <= r {
                self.lines.resize_with(r + 1, Line::default);
            }
            self.lines[r].leases.push_back((lease, run.at));
            self.lines[r].running += 1;
        }
    }

    pub fn end(&mut self, lease: u64, needs: &Needs) -> Option<Run> {
        let run = self.runs.remove(&lease)?;
        for &(r, _) in needs.iter() {
            let Line { leases, running } = &mut self.lines[r as usize];
            *running -= 1;
            if leases.front().is_some_and(|&(first, _)| first == lease) {
                while leases.front().is_some_and(|(first, _)| !self.runs.contains_key(first)) {
                    leases.pop_front();
                }
            }
            if leases.len() > 2 * *running + 8 {
                leases.retain(|(lease, _)| self.runs.contains_key(lease));
                leases.shrink_to(2 * *running + 16);
            }
        }
        Some(run)
    }

    /// When the oldest task that holds some of the resource was started.
    pub fn oldest(&self, resource: usize) -> Option<i64> {
        self.lines.get(resource)?.leases.front().map(|&(_, at)| at)
    }

    /// `counted` is what the lines should be: the starts of the running tasks on each resource.
    pub fn audit(&self, counted: &[Vec<(u64, i64)>]) -> Vec<String> {
        let mut wrong = Vec::new();
        for (r, line) in self.lines.iter().enumerate() {
            let none = Vec::new();
            let mut due = counted.get(r).unwrap_or(&none).clone();
            due.sort_unstable();
            let left: Vec<_> = line.leases.iter().copied().filter(|(lease, _)| self.runs.contains_key(lease)).collect();
            if left != due || line.running != due.len() || line.leases.front() != due.first() {
                wrong.push(format!("resource {r}: the line of running tasks is {left:?} ({}), not {due:?}", line.running));
            }
            if line.leases.len() > 2 * line.running + 8 {
                wrong.push(format!("resource {r}: {} entries for {} running tasks", line.leases.len(), line.running));
            }
        }
        wrong
    }
}

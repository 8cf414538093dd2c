//! What the tests need to play with an engine: commands as a person would say them, answers as short texts.
use slotwise_native::admission::Admission;
use slotwise_native::faults;
use slotwise_native::state::Node;
use slotwise_native::trace;
use slotwise_native::words::Profile;

pub struct Play {
    pub engine: Admission,
    groups: Vec<String>,
    needs: String,
}

impl Play {
    /// Tasks need one of each resource, unless `needs` says otherwise.
    pub fn new(profile: &Profile, capacity: &[(&str, i64)]) -> Self {
        let capacity: Vec<(String, i64)> = capacity.iter().map(|&(name, units)| (name.into(), units)).collect();
        let needs: Vec<String> = capacity.iter().map(|(name, _)| format!("{name:?}:1")).collect();
        let engine = Admission::new(profile, &capacity, faults::NONE).expect("a right profile");
        Play { engine, groups: Vec::new(), needs: format!("{{{}}}", needs.join(",")) }
    }

    pub fn named(profile: &str, capacity: &[(&str, i64)]) -> Self {
        Self::new(&Profile::named(profile).expect("a known profile"), capacity)
    }

    pub fn needs(mut self, needs: &str) -> Self {
        self.needs = needs.into();
        self
    }

    /// Sent with everything that is enqueued from now on.
    pub fn group(mut self, name: &str, weight: f64, share_limit: Option<i64>) -> Self {
        self.respecify(name, weight, share_limit);
        self
    }

    pub fn respecify(&mut self, name: &str, weight: f64, share_limit: Option<i64>) {
        let limit = share_limit.map_or(String::new(), |limit| format!(",\"share_limit\":{limit}"));
        self.groups.retain(|group| !group.contains(&format!("\"name\":{name:?}")));
        self.groups.push(format!("{{\"name\":{name:?},\"weight\":{weight}{limit}}}"));
    }

    /// A command as a line of a trace; what was seen, in the same notation.
    pub fn line(&mut self, line: &str) -> String {
        let mut out = Vec::new();
        trace::step_line(&mut self.engine, line.as_bytes(), &mut Vec::new(), &mut out).expect("a right command");
        assert_eq!(self.engine.audit(), Vec::<String>::new(), "after {line}");
        String::from_utf8(out).expect("text")
    }

    /// Tasks by id; the first letter is their group.
    pub fn enqueue(&mut self, ids: &str) -> String {
        let task = |id: &str| format!("{{\"id\":{id:?},\"group\":\"{}\",\"needs\":{}}}", &id[..1], self.needs);
        let tasks: Vec<String> = ids.split_whitespace().map(task).collect();
        self.line(&format!("{{\"do\":\"enqueue\",\"tasks\":[{}],\"groups\":[{}]}}", tasks.join(","), self.groups.join(",")))
    }

    pub fn one(&mut self, id: &str, needs: &str) -> String {
        let usual = std::mem::replace(&mut self.needs, needs.into());
        let saw = self.enqueue(id);
        self.needs = usual;
        saw
    }

    /// The ids that start, and the closing word.
    pub fn pump(&mut self, at_most: usize) -> String {
        let saw = self.line(&format!("{{\"do\":\"pump\",\"at_most\":{at_most}}}"));
        words(&saw, |seen| seen[if seen.len() > 1 { 2 } else { 0 }].as_str().map(String::from))
    }

    /// End a lease, then start what can start.
    pub fn release(&mut self, lease: u64) -> String {
        assert_eq!(self.line(&format!("{{\"do\":\"release\",\"lease\":{lease}}}")), format!("[[\"released\",{lease}]]"));
        self.pump(99)
    }

    pub fn discard(&mut self, id: &str) -> String {
        self.line(&format!("{{\"do\":\"discard\",\"task\":{id:?}}}"))
    }

    /// Each head with what holds it back.
    pub fn explain(&mut self) -> String {
        let saw = self.line("{\"do\":\"explain\"}");
        words(&saw, |seen| Some(format!("{}:{}", seen[1].as_str()?, seen.last()?.as_str()?)))
    }

    pub fn of(&self, path: &[&str]) -> i128 {
        let state = self.engine.state();
        match path.iter().try_fold(&state, |node, key| node.get(key)) {
            Some(Node::Integer(number)) => *number,
            _ => 0,
        }
    }
}

fn words(saw: &str, say: impl Fn(&[serde_json::Value]) -> Option<String>) -> String {
    let seen: Vec<Vec<serde_json::Value>> = serde_json::from_str(saw).expect("observations");
    seen.iter().filter_map(|seen| say(seen)).collect::<Vec<_>>().join(" ")
}

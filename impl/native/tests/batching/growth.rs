//! However much is queued and waits, a step looks at little: counted, not timed.
use serde_json::{Value, json};
use slotwise_native::batching_words::{Discipline, MILLISECOND, Profile};
use slotwise_native::collector::Collector;

/// Without the audit, which looks at everything.
fn tell(collector: &mut Collector, command: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    let line = command.to_string();
    slotwise_native::batching_trace::step_line(collector, line.as_bytes(), &mut Vec::new(), &mut out).expect("a right command");
    serde_json::from_slice(&out).expect("observations")
}

/// `gap` lies between the dues of the refreshes; the first is due after a second.
fn loaded(profile: &Profile, size: i64, gap: i64) -> Collector {
    let mut collector = crate::player::collector(profile);
    tell(&mut collector, &json!({"do": "submit", "id": "first"}));
    let mut now = 0;
    while tell(&mut collector, &json!({"do": "pump", "at": now})).last().expect("an answer")[0] != "send" {
        now += MILLISECOND;
    }
    for i in 0..size {
        let due = 1000 * MILLISECOND + i * gap;
        let (id, owner) = (format!("r{i}"), format!("o{}", i % 7));
        if i % 2 == 0 {
            tell(&mut collector, &json!({"do": "refresh", "id": id, "due": due, "owner": owner, "at": now}));
        } else {
            tell(&mut collector, &json!({"do": "refresh", "id": id, "key": due, "owner": owner, "at": now}));
        }
        tell(&mut collector, &json!({"do": "submit", "id": format!("q{i}"), "size": 100, "sync": false, "at": now}));
    }
    collector
}

/// The most that one step looks at, for what it does not send.
fn most(profile: &Profile, size: i64, gap: i64) -> u64 {
    let mut collector = loaded(profile, size, gap);
    let (mut now, mut most, mut in_flight) = (900 * MILLISECOND, 0, true);
    for i in 0..400 {
        now += MILLISECOND / 3;
        let command = match i % 8 {
            0 => json!({"do": "submit", "id": "s", "at": now}),
            1 => json!({"do": "refresh", "id": "new", "due": now + 40 * MILLISECOND, "owner": "n", "at": now}),
            2 => json!({"do": "cancel", "id": "new", "at": now}),
            3 => json!({"do": "credit", "running": 1, "at": now}),
            5 if in_flight => json!({"do": "respond", "token": "t", "stamp": now, "done": ["x"], "at": now}),
            _ => json!({"do": "pump", "at": now}),
        };
        let before = collector.examined();
        let saw = tell(&mut collector, &command);
        let last = saw.last().map_or(Value::Null, Clone::clone);
        let sent = if last[0] == "send" { last[1].as_array().map_or(0, Vec::len) + last[2].as_array().map_or(0, Vec::len) } else { 0 };
        in_flight = if sent > 0 { true } else { in_flight && command["do"] != "respond" };
        most = most.max((collector.examined() - before).saturating_sub(3 * sent as u64));
    }
    most
}

#[test]
fn a_step_looks_at_little_however_much_waits() {
    let mut dense = Profile::named("slotwise").expect("a known profile");
    if let Discipline::LookAhead(p) = &mut dense.discipline {
        p.hold = 50;
    }
    for profile in
        [Profile::named("slotwise").expect("a known profile"), dense, Profile::named("aws-durable-3.0.0").expect("a known profile")]
    {
        let ours = profile.name == "slotwise";
        // far apart; close together: a plan for 64 instants at once weighs some thousand sends, however many refreshes lie behind them;
        // all at once: a published batch takes them one by one, and each once
        let gaps = [(1000 * MILLISECOND, if ours { 60 } else { 300 }), (MILLISECOND / 10, 4000), (0, 60)];
        for (gap, bound) in gaps.into_iter().take(if ours { 3 } else { 2 }) {
            let looked: Vec<u64> = [100, 1000, 10_000, 100_000].iter().map(|&size| most(&profile, size, gap)).collect();
            assert!(looked.iter().all(|&looked| looked <= bound), "{} with gaps of {gap}: {looked:?}", profile.name);
        }
    }
}

#[test]
fn what_waits_for_a_hold_to_end_is_counted_once() {
    let mut profile = Profile::named("slotwise").expect("a known profile");
    if let Discipline::LookAhead(p) = &mut profile.discipline {
        (p.hold, p.instants, p.updates, p.bytes, p.collection) = (1000, 0, 1 << 20, 1 << 30, 1 << 40);
    }
    let size = 20_000;
    let mut collector = loaded(&profile, size, 1);
    let (start, steps) = (1000 * MILLISECOND, 2000);
    tell(&mut collector, &json!({"do": "credit", "running": 9, "at": start}));
    tell(&mut collector, &json!({"do": "respond", "token": "t", "at": start}));
    for i in 0..steps {
        let saw = tell(&mut collector, &json!({"do": "pump", "at": start + i * 20}));
        assert_eq!(saw[0][0], "sleep");
        tell(&mut collector, &json!({"do": "submit", "id": "s", "sync": false, "at": start + i * 20}));
    }
    let looked = collector.examined();
    assert!(looked <= 4 * (size + steps) as u64, "{looked}");
}

//! The golden vectors: whole windows on a scripted clock (S) and in virtual time (C), the ratchet's table, the guarded policy's gaps (G).
use serde_json::{Value, json};
use slotwise_native::faults::NONE;
use slotwise_native::spin_lone::Lone;
use slotwise_native::spin_model::Model;
use slotwise_native::spin_policy::Policy;
use slotwise_native::spin_trace::step_line;
use slotwise_native::spin_words::{Discipline, Profile, Setup};

const SCRIPTED: &str = include_str!("../../../../tests/golden/spin/scripted.json");
const COSTED: &str = include_str!("../../../../tests/golden/spin/costed.json");
const ADAPTATION: &str = include_str!("../../../../tests/golden/spin/adaptation.json");
const GAPS: &str = include_str!("../../../../tests/golden/spin/gaps.json");
const ADVERSARY: &str = include_str!("../../../../tests/golden/spin/adversary.json");
const PARK: i64 = 68_300;
/// Readings of an endless part.
const FAR: i64 = 200;

fn rows(data: &str) -> Vec<Value> {
    serde_json::from_str(data).expect("a list of vectors")
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("a number")
}

fn readings(parts: &Value) -> Vec<i64> {
    let part = |part: &Value| match part {
        Value::String(_) => (1..64).map(|k| 2032 * k).collect(),
        Value::Object(row) => (0..row.get("times").map_or(FAR, number)).map(|j| number(&row["from"]) + number(&row["step"]) * j).collect(),
        reading => vec![number(reading)],
    };
    parts.as_array().expect("a list").iter().flat_map(part).collect()
}

/// A whole window ends as it is written for the profile; what is not written for an older state is as in the newest.
fn check(vector: &Value, command: &Value) {
    for (name, state) in [("ep-cpu-orig", "orig"), ("ep-cpu-before", "before"), ("ep-cpu-after", "after"), ("slotwise", "after")] {
        let mut model = Model::new(&Profile::named(name).expect("a known profile"), &Setup::default(), NONE).expect("a right setup");
        let mut out = Vec::new();
        step_line(&mut model, command.to_string().as_bytes(), &mut Vec::new(), &mut out).expect("a right command");
        let saw: Value = serde_json::from_slice(&out).expect("observations");
        let right = vector.get(state).unwrap_or(&vector["after"]).as_array().expect("an outcome");
        assert_eq!(saw[0].as_array().expect("an observation")[1..=right.len()], right[..], "{} under {name}", vector["id"]);
    }
}

#[test]
fn windows_on_a_scripted_clock() {
    for vector in rows(SCRIPTED) {
        let mut command = json!({"do": "script", "window": vector["window"], "readings": readings(&vector["readings"])});
        for event in ["publish", "shutdown"] {
            if let Some(pass) = vector.get(event) {
                command[event] = pass.clone();
            }
        }
        check(&vector, &command);
    }
}

#[test]
fn windows_in_virtual_time() {
    for vector in rows(COSTED) {
        let mut command = vector["costs"].clone();
        command["do"] = "wait".into();
        command["window"] = vector["window"].clone();
        check(&vector, &command);
    }
}

#[test]
fn the_ratchet_moves_as_in_the_table() {
    let published = Discipline::Ratchet { floor: 20_000, cap: 500_000 };
    for row in rows(ADAPTATION) {
        let mut policy = Policy::new(&published, &Setup::default(), NONE).expect("a right policy");
        if let Policy::Ratchet { window, .. } = &mut policy {
            *window = number(&row["start"]) as u64;
        }
        let mut lone = Lone::new(policy.clone(), true, NONE);
        for (event, windows) in row["events"].as_str().expect("events").split(' ').zip(row["windows"].as_array().expect("windows")) {
            let (used, parks, ran) = (policy.window(), event.starts_with('x'), event.ends_with('R'));
            let mut seen = Vec::new();
            if parks {
                policy.shrink()
            } else {
                policy.grow()
            }
            seen.push(policy.window());
            if ran {
                policy.grow();
                seen.push(policy.window());
            }
            assert_eq!(json!(seen), *windows, "{row}");
            assert_eq!(lone.gap(used as i64 + i64::from(parks), ran), (used, !parks, policy.window()), "{row}");
        }
    }
}

fn guarded() -> Lone {
    Lone::new(Policy::new(&Discipline::Guarded { latency: 0 }, &Setup::default(), NONE).expect("a right policy"), false, NONE)
}

fn guard(lone: &Lone) -> i64 {
    if let Policy::Guarded(guarded) = &lone.policy { guarded.guard } else { 0 }
}

#[test]
fn the_guarded_policy_follows_the_gaps() {
    let spread = |counted: &Value| -> Vec<i64> {
        let counted = counted.as_array().expect("a list").iter();
        counted.flat_map(|pair| std::iter::repeat_n(number(&pair[0]), number(&pair[1]) as usize)).collect()
    };
    for vector in rows(GAPS) {
        let mut lone = guarded();
        let used: Vec<i64> = spread(&vector["gaps"]).into_iter().map(|gap| lone.gap(gap, true).0 as i64).collect();
        assert_eq!(used, spread(&vector["windows"]), "{}", vector["id"]);
        assert_eq!(guard(&lone), vector.get("guard").map_or(guard(&lone), number), "{}", vector["id"]);
    }
}

#[test]
fn an_adversary_pays_for_what_it_takes() {
    let vector: Value = serde_json::from_str(ADVERSARY).expect("a vector");
    let mut lone = guarded();
    let (mut windows, mut paid, mut best, mut most) = (Vec::new(), 0, 0, 0);
    for _ in 0..number(&vector["steps"]) {
        let gap = lone.policy.window() as i64 + number(&vector["after"]);
        let used = lone.gap(gap, true).0 as i64;
        paid += if gap <= used { gap } else { used + PARK };
        best += gap.min(PARK);
        most = most.max(guard(&lone));
        assert!(most <= 11 * PARK && 4 * paid <= 9 * best + 44 * PARK);
        windows.push(used);
    }
    let first = vector["windows"].as_array().expect("windows");
    assert_eq!(json!(windows[..first.len()]), json!(first));
    assert_eq!(format!("{:.2}", paid as f64 / best as f64), vector["ratio"].to_string());
    assert_eq!(format!("{:.2}", most as f64 / PARK as f64), vector["guard"].to_string());
}

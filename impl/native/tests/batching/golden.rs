//! The golden vectors V01 to V45: each script, under each profile, sends and tells what was recorded.
//!
//! Not compared: the order of settlements within one instant, and which refreshes were on a request of the packages (they do not say).
use serde_json::Value;
use slotwise_native::batching_words::{Discipline, Profile};

use crate::player::{HORIZON, Played, Player};

const VECTORS: &str = include_str!("../../../../tests/golden/checkpoint/collector.jsonl");

fn profile(name: &str) -> Profile {
    let mut profile = Profile::named(name.trim_end_matches(", uncounted")).expect("a known profile");
    if let (Discipline::LookAhead(p), true) = (&mut profile.discipline, name.ends_with("uncounted")) {
        p.counted = false;
    }
    profile
}

/// What the recordings of the packages tell of a refusal is the kind of error.
fn kind(why: &str) -> &str {
    match why {
        "revoked" => "suspended",
        "failed" => "failed",
        _ => "orphaned",
    }
}

fn times_of(seen: &Value) -> Vec<(i64, String, String)> {
    let mut settled = Vec::new();
    for row in seen["settled"].as_array().expect("rows") {
        for id in row[2].as_array().expect("ids") {
            let text = |value: &Value| value.as_str().expect("a text").to_string();
            settled.push((row[0].as_i64().expect("a time"), text(id), text(&row[1])));
        }
    }
    settled.sort();
    settled
}

fn compare(what: &str, published: bool, seen: &Value, mut found: Played) {
    let sends: Vec<Value> = found
        .sends
        .iter()
        .map(
            |(at, updates, refreshes)| {
                if published { serde_json::json!([at, updates]) } else { serde_json::json!([at, updates, refreshes]) }
            },
        )
        .collect();
    assert_eq!(Value::Array(sends), seen["sends"], "{what}");
    found.settled.sort();
    assert_eq!(found.settled, times_of(seen), "{what}");
    let rejected: Vec<Value> = found
        .rejected
        .iter()
        .map(|(at, id, why)| if published { serde_json::json!([at, id, kind(why)]) } else { serde_json::json!([id, why]) })
        .collect();
    assert_eq!(Value::Array(rejected), seen["rejected"], "{what}");
    if published {
        assert_eq!(found.exit, seen["exit"].as_i64(), "{what}");
    }
}

#[test]
fn every_vector_under_every_profile() {
    let mut played = 0;
    for line in VECTORS.lines() {
        let vector: Value = serde_json::from_str(line).expect("a vector");
        for (name, seen) in vector["seen"].as_object().expect("profiles") {
            let published = name.starts_with("aws");
            let horizon = if published { HORIZON } else { 2 * HORIZON };
            let found = Player::play(&profile(name), &vector["script"], &vector["fates"], horizon);
            compare(&format!("{} under {name}", vector["id"]), published, seen, found);
            played += 1;
        }
    }
    assert_eq!(played, 19 + 37 + 32 + 32);
}

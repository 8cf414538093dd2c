//! Answers by hand: what is told, in which order, and what is remembered.
use serde_json::{Value, json};
use slotwise_native::batching_words::{Discipline, LookAhead, MILLISECOND, Profile};
use slotwise_native::collector::Collector;

use crate::player::{collector, tell};

const TRIP: i64 = 30 * MILLISECOND;

fn slotwise(change: impl FnOnce(&mut LookAhead)) -> Collector {
    let mut profile = Profile::named("slotwise").expect("a known profile");
    if let Discipline::LookAhead(p) = &mut profile.discipline {
        change(p);
    }
    collector(&profile)
}

fn say(collector: &mut Collector, line: &str) -> String {
    let command: Value = serde_json::from_str(line).expect("a command");
    Value::Array(tell(collector, &command)).to_string()
}

#[test]
fn one_request_at_a_time_and_every_page_before_anybody_is_told() {
    let mut c = slotwise(|_| {});
    say(&mut c, r#"{"do":"submit","id":"a"}"#);
    assert_eq!(say(&mut c, r#"{"do":"pump"}"#), r#"[["send",["a"],[],"token-0"]]"#);
    assert_eq!(say(&mut c, r#"{"do":"page"}"#), r#"[["unexpected","page"]]"#);
    say(&mut c, r#"{"do":"submit","id":"b"}"#);
    assert_eq!(say(&mut c, r#"{"do":"pump"}"#), r#"[["sleep",null]]"#);
    assert_eq!(say(&mut c, r#"{"do":"respond","token":"t1","marker":"m","at":30}"#), r#"[["fetch","m","t1"]]"#);
    assert_eq!(say(&mut c, r#"{"do":"respond","token":"t1","at":30}"#), r#"[["unexpected","respond"]]"#);
    assert_eq!(say(&mut c, r#"{"do":"page","at":60}"#), r#"[["settled","a","ok"]]"#);
    assert_eq!(say(&mut c, r#"{"do":"pump","at":59}"#), r#"[["time_reversed",60]]"#);
}

#[test]
fn what_is_not_done_yet_is_asked_again_and_waves_go_on_by_stamp_and_index() {
    let mut c = slotwise(|_| {});
    for (id, owner, index, key) in [("x", "o", 2, 5), ("y", "o", 1, 5), ("z", "p", 0, 4), ("w", "o", 0, 900)] {
        tell(&mut c, &json!({"do": "refresh", "id": id, "owner": owner, "index": index, "key": key * MILLISECOND}));
    }
    // the first due does not pay without the others
    assert_eq!(say(&mut c, r#"{"do":"pump","at":4000000}"#), r#"[["sleep",5000000]]"#);
    assert_eq!(say(&mut c, r#"{"do":"pump","at":5000000}"#), r#"[["send",[],["z","x","y"],"token-0"]]"#);
    let saw = tell(&mut c, &json!({"do": "respond", "token": "t", "done": ["x", "y", "w"], "at": 5 * MILLISECOND + TRIP}));
    assert_eq!(
        Value::Array(saw).to_string(),
        r#"[["again","z",35000000],["resumed","o",5000000,["y","x"]],["resumed","o",900000000,["w"]]]"#
    );
    // known for ever: a later look is answered at once
    assert_eq!(say(&mut c, r#"{"do":"refresh","id":"w","key":9,"owner":"q","at":35000000}"#), r#"[["resumed","q",9,["w"]]]"#);
}

#[test]
fn a_cancelled_refresh_is_settled_once_wherever_it_is() {
    let mut c = slotwise(|_| {});
    for id in ["a", "b", "c"] {
        tell(&mut c, &json!({"do": "refresh", "id": id, "owner": "o"}));
    }
    tell(&mut c, &json!({"do": "refresh", "id": "far", "owner": "o", "due": 1000 * MILLISECOND}));
    assert_eq!(say(&mut c, r#"{"do":"pump"}"#), r#"[["send",[],["a","b","c"],"token-0"]]"#);
    assert_eq!(say(&mut c, r#"{"do":"cancel","id":"b"}"#), r#"[["settled","b","cancelled"]]"#);
    // a place that is free again is another's
    say(&mut c, r#"{"do":"refresh","id":"b","owner":"p"}"#);
    assert_eq!(say(&mut c, r#"{"do":"respond","token":"t","at":30}"#), r#"[["resumed","o",null,["a","c"]]]"#);
    assert_eq!(say(&mut c, r#"{"do":"cancel","owner":"o","at":30}"#), r#"[["settled","far","cancelled"]]"#);
    assert_eq!(say(&mut c, r#"{"do":"cancel","owner":"o","at":30}"#), "[]");
}

#[test]
fn a_context_above_itself_is_nobodys_orphan() {
    let mut c = slotwise(|_| {});
    say(&mut c, r#"{"do":"submit","id":"end","ends":true}"#);
    for (id, parent) in [("a", "b"), ("b", "c"), ("c", "a")] {
        tell(&mut c, &json!({"do": "submit", "id": id, "parent": parent}));
    }
    assert_eq!(say(&mut c, r#"{"do":"submit","id":"d","parent":"a"}"#), r#"[["accepted","d"]]"#);
    tell(&mut c, &json!({"do": "submit", "id": "b", "ends": true}));
    assert_eq!(say(&mut c, r#"{"do":"submit","id":"e","parent":"a"}"#), r#"[["rejected","e","orphaned"]]"#);
}

#[test]
fn the_latest_instants_and_the_greatest_numbers_do_not_overflow() {
    let latest = 1i64 << 60;
    let mut c = slotwise(|p| (p.resolution, p.collection, p.quiet, p.round_trip, p.hold) = (latest, latest, latest, latest, (1 << 31) - 1));
    tell(&mut c, &json!({"do": "submit", "id": "a", "size": (1i64 << 31) - 1}));
    tell(&mut c, &json!({"do": "pump"}));
    tell(&mut c, &json!({"do": "refresh", "id": "r", "key": latest, "at": latest}));
    tell(&mut c, &json!({"do": "respond", "token": "t", "stamp": -latest, "at": latest}));
    let saw = tell(&mut c, &json!({"do": "pump", "at": latest}));
    // the stamp, the resolution, the offset of the clocks, and the guard
    let due = 3 * i128::from(latest) + i128::from(latest / 4);
    assert_eq!(saw[0][1].to_string(), due.to_string());
}

#[test]
fn what_is_out_of_bounds_is_refused_in_one_line() {
    let mut profile = Profile::named("slotwise").expect("a known profile");
    if let Discipline::LookAhead(p) = &mut profile.discipline {
        p.updates = 0;
    }
    let error = Collector::new(&profile, "t", 0, slotwise_native::faults::NONE).err();
    assert_eq!(error.as_deref(), Some("profile slotwise: updates must be 1 to 1048576, found 0"));
    let head = r#"{"slotwise":1,"mechanism":"batching","profile":{"name":"s","discipline":{"type":"look-ahead"}},"setup":{}}"#;
    let run = |line: &str| slotwise_native::batching_trace::run(format!("{head}\n{line}\n").as_bytes(), slotwise_native::faults::NONE);
    for (line, error) in [
        (r#"{"do":"submit"}"#, "line 2: field `id` of submit is missing"),
        (r#"{"do":"submit","id":""}"#, "line 2: an item's id must have 1 to 200 characters"),
        (r#"{"do":"pump","id":"a"}"#, "line 2: pump has no field `id`"),
        (r#"{"do":"credit","running":1048577}"#, "line 2: running must be -1048576 to 1048576, found 1048577"),
        (r#"{"do":"jump"}"#, "line 2: field `do`: no command \"jump\" is known"),
        (r#"{"do":"stop","at":-1}"#, "line 2: at must be 0 to 1152921504606846976, found -1"),
    ] {
        assert_eq!(run(line), Err(error.into()), "{line}");
    }
    assert_eq!(run(r#"{"do":"pump"}"#), Ok(b"[[\"sleep\",null]]\n".to_vec()));
}

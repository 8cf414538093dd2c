//! What is out of bounds is refused, and by its name.
use slotwise_native::faults::NONE;
use slotwise_native::spin_trace::{command, run};

const PROFILE: &str = r#"{"name":"p","discipline":{"type":"guarded"}}"#;

fn refused(profile: &str, setup: &str) -> String {
    let header = format!(r#"{{"slotwise":1,"mechanism":"spin","profile":{profile},"setup":{setup}}}"#);
    run(format!("{header}\n").as_bytes(), NONE).expect_err("must be refused")
}

#[test]
fn setups() {
    for (setup, why) in [
        (r#"{"width":0}"#, "width must be 1 to 64, found 0"),
        (r#"{"width":2,"spawned":2}"#, "spawned 2 of width 2"),
        (r#"{"park":-1}"#, "park must be 8 to 1000000000, found -1"),
        (r#"{"wake":-1}"#, "wake must be 0"),
        (r#"{"catch":-5}"#, "catch must be 0"),
        (r#"{"parks":1}"#, "unknown field `parks`"),
    ] {
        let error = refused(PROFILE, setup);
        assert!(error.starts_with("line 1: ") && error.contains(why), "{setup}: {error}");
    }
}

#[test]
fn profiles() {
    for (discipline, rest, why) in [
        (r#"{"type":"ratchet","floor":30,"cap":20}"#, "", "floor 30 is above cap 20"),
        (r#"{"type":"average","floor":0}"#, "", "floor must be 1"),
        (r#"{"type":"fixed","window":-1}"#, "", "window must be 0"),
        (r#"{"type":"fixed","floor":1}"#, "", "unknown field `floor`"),
        (r#"{"type":"guarded","latency":-1}"#, "", "latency must be 0"),
        (r#"{"type":"greedy"}"#, "", "unknown variant `greedy`"),
        (r#"{"type":"guarded"}"#, r#","budget":0"#, "budget must be 1"),
        (r#"{"type":"guarded"}"#, r#","slots":33"#, "slots must be 1 to 32, found 33"),
        (r#"{"type":"guarded"}"#, r#","yield_interval":0"#, "yield_interval must be 1"),
    ] {
        let error = refused(&format!(r#"{{"name":"p","discipline":{discipline}{rest}}}"#), "{}");
        assert!(error.contains(why), "{discipline}{rest}: {error}");
    }
    let dear = refused(r#"{"name":"p","discipline":{"type":"break-even","latency":2147483647}}"#, r#"{"wake":1152921504606846976}"#);
    assert!(dear.contains("make a park worth"), "{dear}");
}

#[test]
fn commands() {
    for (line, why) in [
        (r#"{"do":"go"}"#, "field `actor` of go is missing"),
        (r#"{"do":"go","actor":"w0","times":0}"#, "times must be 1"),
        (r#"{"do":"go","actor":"","times":1}"#, "an actor must have 1 to 200 characters"),
        (r#"{"do":"go","actor":"w0","total":1}"#, "go has no field `total`"),
        (r#"{"do":"dispatch","actor":"d"}"#, "field `total` of dispatch is missing"),
        (r#"{"do":"dispatch","actor":"d","total":-1}"#, "total must be 0"),
        (r#"{"do":"wait","window":5,"pause":0}"#, "pause must be 1"),
        (r#"{"do":"script"}"#, "field `window` of script is missing"),
        (r#"{"do":"script","window":5,"readings":[1,-1]}"#, "a reading must be 0"),
        (r#"{"do":"script","window":5,"publish":0}"#, "publish must be 1"),
        (r#"{"do":"gap","gap":-1}"#, "gap must be 0"),
        (r#"{"do":"spin"}"#, "no command \"spin\" is known"),
        (r#"{"do":"counters","at":-1}"#, "at must be 0"),
    ] {
        let error = command(line.as_bytes()).expect_err("must be refused");
        assert!(error.contains(why), "{line}: {error}");
    }
}

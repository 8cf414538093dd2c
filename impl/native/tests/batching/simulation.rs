//! Whole scenarios: the order of an instant by hand, requests and times as they are published, and what is refused.
use slotwise_native::batching_run::Run;
use slotwise_native::batching_scenarios::Scenario;
use slotwise_native::batching_simulation::run;
use slotwise_native::batching_words::{MILLISECOND, Profile};
use slotwise_native::faults::NONE;

const PROFILES: [&str; 3] = ["aws-durable-2.0.0", "aws-durable-3.0.0", "slotwise"];

fn seeded(profile: &str, scenario: &str, seed: Option<u64>) -> Result<Run, String> {
    run(&Profile::named(profile).expect("a known profile"), Scenario::read(scenario.as_bytes())?, seed, NONE)
}

fn play(profile: &str, scenario: &str) -> Run {
    seeded(profile, scenario, None).expect("a right scenario")
}

fn scenario(work: &str) -> String {
    format!(r#"{{"name":"x","work":[{work}],"service":{{"out":2,"back":1}}}}"#)
}

fn fan_out(number: usize, more: &str) -> String {
    let branches = vec![r#"[{"do":"step","name":"s"}]"#; number].join(",");
    format!(r#"{{"name":"x","work":[{{"do":"parallel","name":"p","branches":[{branches}]{more}}}]}}"#)
}

/// The log without its credits, which are told of elsewhere.
fn told(run: &Run) -> Vec<&str> {
    let log = std::str::from_utf8(&run.log).expect("text");
    log.lines().filter(|line| !line.contains(r#""do":"credit""#)).collect()
}

#[test]
fn an_instant_is_producers_as_told_then_sleepers_one_by_one_then_the_pump() {
    let parallel = r#"{"do":"parallel","name":"p","flat":true,"branches":[
        [{"do":"pause","name":"u","duration":5},{"do":"step","name":"s","at_most_once":true}],[{"do":"pause","name":"u","duration":4},{"do":"pause","name":"v","duration":1},{"do":"wait","name":"w","duration":1}],
        [{"do":"pause","name":"u","duration":5},{"do":"step","name":"s","size":8}]]}"#;
    let run = play("slotwise", &scenario(parallel));
    assert_eq!(
        told(&run)[..10],
        [
            r#"[{"do":"submit","id":"p","size":100,"sync":false},[["accepted","p"]]]"#,
            r#"[{"do":"pump"},[["sleep",100000000]]]"#,
            r#"[{"do":"pump","at":4},[["sleep",100000000]]]"#,
            r#"[{"do":"submit","id":"p.0/s","size":100,"parent":"p","at":5},[["accepted","p.0/s"]]]"#,
            r#"[{"do":"submit","id":"p.2/s","size":100,"sync":false,"parent":"p","at":5},[["accepted","p.2/s"]]]"#,
            r#"[{"do":"submit","id":"p.2/s","size":8,"parent":"p","at":5},[["accepted","p.2/s"]]]"#,
            r#"[{"do":"submit","id":"p.1/w","size":100,"parent":"p","at":5},[["accepted","p.1/w"]]]"#,
            r#"[{"do":"pump","at":5},[["send",["p","p.0/s","p.2/s","p.2/s","p.1/w"],[],"token-0"]]]"#,
            r#"[{"do":"pump","at":7},[["sleep",null]]]"#,
            r#"[{"do":"respond","token":"token-1","stamp":7,"at":8},[["settled","p.0/s","ok"],["settled","p.2/s","ok"],["settled","p.1/w","ok"]]]"#,
        ]
    );
}

#[test]
fn requests_and_times_are_the_published_ones() {
    let found = |scenario: &str| {
        PROFILES.map(|profile| {
            let run = play(profile, scenario);
            assert_eq!(run.result, "done");
            (run.handler.expect("it returned") / MILLISECOND, run.calls.len())
        })
    };
    assert_eq!(found(&fan_out(200, "")), [(350, 5), (152, 5), (150, 5)]);
    assert_eq!(found(&fan_out(200, r#","flat":true"#)), [(290, 3), (92, 3), (90, 3)]);
    assert_eq!(found(&fan_out(200, r#","at_once":50"#)), [(1170, 9), (279, 9), (270, 9)]);
}

#[test]
fn what_is_never_sent_hangs_and_what_fails_is_told() {
    let large = scenario(r#"{"do":"step","name":"s","size":800000}"#);
    assert_eq!(PROFILES.map(|profile| play(profile, &large).result), ["blocked", "blocked", "done"]);
    let failing = r#"{"do":"child","name":"c","work":[{"do":"step","name":"s","fails":true}]}"#;
    assert_eq!(PROFILES.map(|profile| play(profile, &scenario(failing)).result), ["failed: c/s"; 3]);
    let lost = scenario(failing).replace(r#""back":1"#, r#""back":1,"fates":{"1":"fail"}"#);
    assert_eq!(play("slotwise", &lost).result, "refused: failed");
}

#[test]
fn a_seed_orders_who_is_ready() {
    let scenario = fan_out(9, "");
    let log = |seed| seeded("slotwise", &scenario, seed).expect("a right scenario").log;
    assert_eq!(log(Some(1)), log(Some(1)));
    assert_ne!(log(Some(1)), log(Some(2)));
    assert_ne!(log(Some(1)), log(None));
}

#[test]
fn errors_name_what_is_wrong() {
    for (scenario, said) in [
        (scenario(r#"{"do":"step","name":"a"},{"do":"wait","name":"a","duration":1}"#), r#""a" is named twice in the handler"#),
        (
            scenario(r#"{"do":"parallel","name":"p","branches":[[{"do":"poll","name":"q"},{"do":"poll","name":"q"}]]}"#),
            r#"named twice in "p""#,
        ),
        (scenario(r#"{"do":"step","name":""}"#), "a work's name must have 1 to 200 characters"),
        (scenario(r#"{"do":"wait","name":"a","duration":-1}"#), "duration must be 0 to"),
        (scenario(r#"{"do":"parallel","name":"p","branches":[],"at_once":0}"#), "at_once must be 1 to"),
        (scenario(r#"{"do":"step","name":"a","in_vain":1}"#), "in_vain"),
        (scenario(r#"{"do":"sleep","name":"a"}"#), "sleep"),
        (scenario(r#"{"do":"wait","name":"a"}"#), "duration"),
        (scenario("").replace(r#""out":2"#, r#""grid":0"#), "grid must be 1 to"),
        (scenario("").replace("}}", r#"},"earlier":[{"op":"a"},{"op":"a","end":1}]}"#), r#""a" is known twice"#),
    ] {
        let error = seeded("slotwise", &scenario, None).expect_err(&scenario);
        assert!(error.contains(said), "{error}");
    }
}

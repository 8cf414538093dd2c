//! Vectors of `semantics` 2bis, recorded from the published package: data-designer-engine 0.9.7, and 0.8.0 where it says so.
use crate::play::Play;
use slotwise_native::words::{Borrowing, Ceiling, Discipline, Profile, Rounding};

const AFTER: &str = "data-designer-0.9";
const BEFORE: &str = "data-designer-0.8";
const PAIR: [(&str, i64); 2] = [("submission", 8), ("llm_wait", 8)];

fn borrowing(change: impl FnOnce(&mut Borrowing)) -> Profile {
    let mut profile = Profile::named(AFTER).expect("a known profile");
    let mut parameters = Borrowing::default();
    change(&mut parameters);
    profile.discipline = Discipline::BoundedBorrow(parameters);
    profile
}

fn late_peer(profile: &str) -> Play {
    let mut play = Play::named(profile, &PAIR).group("h", 4.0, Some(8)).group("p", 1.0, Some(8));
    play.enqueue("h0 h1 h2 h3 h4 h5 h6 h7 h8 h9 h10 h11");
    play
}

#[test]
fn a1_a_late_peer_is_let_in_by_debt() {
    let mut play = late_peer(AFTER);
    assert_eq!(play.pump(99), "h0 h1 h2 h3 h4 h5 h6 h7 blocked");
    assert_eq!(play.of(&["debt", "h", "llm_wait"]), 4);
    assert_eq!(play.explain(), "h8:no_capacity");
    play.enqueue("p0 p1 p2 p3");
    assert_eq!((play.pump(99), play.explain()), ("blocked".into(), "p0:no_capacity h8:no_capacity".into()));
    assert_eq!((play.release(1), play.of(&["debt", "h", "llm_wait"])), ("p0 blocked".into(), 3));
    assert_eq!((play.release(2), play.of(&["debt", "h", "llm_wait"])), ("p1 blocked".into(), 2));
    assert_eq!((play.release(3), play.of(&["debt", "h", "llm_wait"])), ("blocked".into(), 1));
    assert_eq!(play.explain(), "h8:borrow_debt p2:group_cap");
    assert_eq!((play.release(4), play.of(&["debt", "h", "llm_wait"])), ("h8 h9 blocked".into(), 0));
    assert_eq!(play.release(5), "h10 blocked");
    assert_eq!(play.release(6), "h11 blocked");
    assert_eq!(play.of(&["debt", "h", "llm_wait"]), 0);
}

#[test]
fn a1_before_a_slot_is_reserved() {
    let mut play = late_peer(BEFORE);
    assert_eq!(play.pump(99), "h0 h1 h2 h3 h4 h5 h6 blocked");
    assert_eq!((play.of(&["debt", "h", "llm_wait"]), play.explain()), (3, "h7:borrow_debt".into()));
    play.enqueue("p0 p1 p2 p3");
    assert_eq!(play.pump(99), "p0 blocked");
    assert_eq!(play.release(1), "p1 blocked");
    assert_eq!(play.release(2), "blocked");
    assert_eq!(play.release(3), "h7 h8 blocked");
    assert_eq!(play.release(4), "h9 blocked");
}

#[test]
fn a2_strict_has_no_debt() {
    let mut play = late_peer("strict");
    assert_eq!(play.pump(99), "h0 h1 h2 h3 h4 h5 h6 h7 blocked");
    play.enqueue("p0 p1 p2 p3");
    assert_eq!([play.release(1), play.release(2), play.release(3)], ["p0 blocked", "h8 blocked", "h9 blocked"]);
}

#[test]
fn a3_a_group_alone_fills_the_resource() {
    let before = [(1, 1), (2, 1), (3, 2), (4, 3), (5, 4), (8, 7), (16, 14), (64, 56), (65, 57), (128, 120)];
    for (capacity, slots) in before {
        for (profile, slots) in [(BEFORE, slots), (AFTER, capacity as usize)] {
            let mut play = Play::named(profile, &[("submission", 999), ("llm", capacity)]).group("a", 1.0, Some(999));
            play.enqueue(&(0..140).map(|i| format!("a{i} ")).collect::<String>());
            assert_eq!(play.pump(999).split(' ').count() - 1, slots, "{profile} {capacity}");
        }
    }
}

#[test]
fn a4_everyone_waits_from_the_start() {
    let cases: [(i64, &[f64], Rounding, &str, &str); 8] = [
        (8, &[4.0, 1.0], Rounding::Ceil, "a0 b0 a1 a2 a3 b1 a4 a5 blocked", ""),
        (8, &[4.0, 1.0], Rounding::Floor, "a0 b0 a1 a2 a3 a4 a5 blocked", "b1:group_cap a6:group_cap"),
        (8, &[4.0, 1.0, 1.0], Rounding::Ceil, "a0 b0 c0 a1 a2 a3 b1 c1 blocked", ""),
        (10, &[3.0, 2.0, 1.0], Rounding::Ceil, "a0 b0 c0 a1 b1 a2 c1 b2 a3 a4 blocked", ""),
        (10, &[3.0, 2.0, 1.0], Rounding::Floor, "a0 b0 c0 a1 b1 a2 b2 a3 a4 blocked", "c1:group_cap b3:group_cap a5:group_cap"),
        (7, &[1.0, 1.0, 1.0], Rounding::Floor, "a0 b0 c0 a1 b1 c1 blocked", "a2:group_cap b2:group_cap c2:group_cap"),
        (3, &[1.0, 1.0, 1.0, 1.0], Rounding::Ceil, "a0 b0 c0 blocked", ""),
        (4, &[0.5, 2.0], Rounding::Floor, "a0 b0 b1 blocked", "a1:group_cap b2:group_cap"),
    ];
    for (capacity, weights, rounding, order, refused) in cases {
        let mut play = Play::new(&borrowing(|p| p.share_rounding = rounding), &[("llm", capacity)]);
        let names = ["a", "b", "c", "d"];
        for (name, weight) in names.iter().zip(weights) {
            play = play.group(name, *weight, Some(99));
        }
        for name in &names[..weights.len()] {
            play.enqueue(&(0..12).map(|i| format!("{name}{i} ")).collect::<String>());
        }
        assert_eq!(play.pump(99), order, "{capacity} {weights:?} {rounding:?}");
        let explained = play.explain();
        assert_eq!(if refused.is_empty() { explained.replace(":no_capacity", "").replace(|c| c != ':', "") } else { explained }, refused);
    }
}

#[test]
fn a6_ceilings() {
    let own = || vec![Ceiling { group: "a".into(), resource: "llm".into(), units: 3 }];
    let cases: [(Profile, usize, i128); 6] = [
        (borrowing(|_| {}), 8, 4),
        (borrowing(|p| p.default_ceiling = Some(1)), 5, 1),
        (borrowing(|p| p.default_ceiling = Some(0)), 4, 0),
        (borrowing(|p| (p.default_ceiling, p.ceilings) = (Some(1), own())), 7, 3),
        (borrowing(|p| p.reserve_fraction = 0.125), 7, 3),
        (borrowing(|p| (p.reserve_fraction, p.reserve_at_most) = (0.5, 2)), 6, 2),
    ];
    for (profile, slots, debt) in cases {
        let mut play = Play::new(&profile, &[("llm", 8)]).group("a", 1.0, Some(8));
        play.enqueue("a0 a1 a2 a3 a4 a5 a6 a7 a8 a9");
        assert_eq!((play.pump(99).split(' ').count() - 1, play.of(&["debt", "a", "llm"])), (slots, debt), "{profile:?}");
    }
    let mut play = Play::new(&borrowing(|p| (p.repay, p.default_ceiling) = (false, Some(2))), &[("llm", 8)]).group("a", 1.0, Some(8));
    play.enqueue("a0 a1 a2 a3 a4 a5 a6 a7 a8 a9");
    assert_eq!(play.pump(99), "a0 a1 a2 a3 a4 a5 blocked");
    assert_eq!((play.release(1), play.of(&["debt", "a", "llm"]), play.explain()), ("blocked".into(), 2, "a6:borrow_debt".into()));
}

#[test]
fn a7_three_resources_and_a_local_group() {
    let model = r#"{"submission":1,"llm_wait":1,"request:p/m":1}"#;
    for (profile, first, debt) in [(AFTER, "m0 l0 m1 l1 l2 l3 blocked", 1), (BEFORE, "m0 l0 l1 l2 l3 l4 blocked", 0)] {
        let capacity = [("submission", 6), ("llm_wait", 4), ("request:p/m", 2)];
        let mut play = Play::named(profile, &capacity).needs(model).group("m", 2.0, Some(4)).group("l", 1.0, None);
        for i in 0..6 {
            play.enqueue(&format!("m{i}"));
            play.one(&format!("l{i}"), r#"{"submission":1}"#);
        }
        assert_eq!((play.pump(99).as_str(), play.of(&["debt", "m", "request:p/m"])), (first, debt));
        if profile == AFTER {
            assert_eq!((play.release(1).as_str(), play.of(&["debt", "m", "request:p/m"])), ("m2 blocked", 1));
        }
    }
}

#[test]
fn a9_release_codes() {
    let mut play = Play::named(AFTER, &[("llm", 2)]);
    play.enqueue("a0 a1");
    play.pump(99);
    for (claim, seen) in [
        (r#"{"task":"forged"}"#, "stale_lease"),
        (r#"{"generation":7}"#, "wrong_controller_generation"),
        (r#"{"task":"a0","needs":{"llm":99}}"#, "released"),
        ("{}", "duplicate"),
        (r#"{"generation":7}"#, "wrong_controller_generation"),
    ] {
        assert_eq!(play.line(&format!("{{\"do\":\"release\",\"lease\":1,\"claim\":{claim}}}")), format!("[[\"{seen}\",1]]"));
    }
    assert_eq!(play.line(r#"{"do":"release","lease":77}"#), r#"[["unknown_lease",77]]"#);
    assert_eq!(play.line(r#"{"do":"release","lease":0}"#), r#"[["unknown_lease",0]]"#);
}

#[test]
fn a11_wide_tasks_owe_what_is_beyond_the_share() {
    let mut play = Play::named(AFTER, &[("llm", 8)]).needs(r#"{"llm":3}"#).group("a", 1.0, Some(8)).group("b", 1.0, Some(8));
    play.enqueue("a0 a1 a2");
    assert_eq!((play.pump(99).as_str(), play.of(&["debt", "a", "llm"])), ("a0 a1 blocked", 2));
    for id in ["b0", "b1", "b2", "b3"] {
        play.one(id, r#"{"llm":1}"#);
    }
    assert_eq!(play.pump(99), "b0 b1 blocked");
    assert_eq!((play.release(1).as_str(), play.of(&["debt", "a", "llm"])), ("b2 b3 blocked", 0));
    assert_eq!(play.explain(), "a2:no_capacity");
}

#[test]
fn a12_strict_leaves_a_slot_idle_when_both_are_at_their_limits() {
    let mut play = Play::named("strict", &[("llm", 8)]).group("a", 1.0, Some(2)).group("b", 1.0, Some(2));
    play.enqueue("a0 a1 a2 a3 a4 a5 a6");
    assert_eq!(play.pump(6), "a0 a1 a2 a3 a4 a5 full");
    play.enqueue("b0 b1 b2");
    assert_eq!(play.pump(99), "b0 b1 blocked");
    assert_eq!((play.release(1).as_str(), play.explain().as_str()), ("blocked", "a6:group_cap b2:group_cap"));
}

#[test]
fn h1_two_wide_heads_refuse_each_other() {
    for (profile, pumped) in [(AFTER, "blocked"), ("strict", "a0 blocked"), ("slotwise", "a0 blocked")] {
        let mut play = Play::named(profile, &[("llm", 8)]).needs(r#"{"llm":5}"#).group("a", 1.0, Some(8)).group("b", 1.0, Some(8));
        play.enqueue("a0 b0");
        assert_eq!(play.pump(99), pumped, "{profile}");
        if profile == AFTER {
            assert_eq!(play.explain(), "a0:group_cap b0:group_cap");
        }
    }
}

fn queue(profile: &str) -> Play {
    Play::named(profile, &[("llm", 999)])
}

#[test]
fn q1_heavier_groups_come_round_more_often() {
    let mut play = queue(AFTER).group("a", 4.0, None).group("b", 1.0, None);
    play.enqueue("a0 a1 a2 a3 a4 a5 a6 a7 b0 b1 b2 b3");
    let (mut order, mut times) = (Vec::new(), Vec::new());
    for _ in 0..12 {
        order.push(play.pump(1).split(' ').next().unwrap_or_default().to_string());
        times.push(f64::from_bits(play.of(&["virtual_time"]) as u64));
    }
    assert_eq!(order.join(" "), "a0 b0 a1 a2 a3 b1 a4 a5 a6 a7 b2 b3");
    assert_eq!(times, [0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 1.25, 1.5, 1.75, 2.0, 3.0]);
}

#[test]
fn q2_ties_go_to_the_earlier_turn() {
    let mut play = queue(AFTER);
    play.enqueue("z0 z1 a0 a1 m0 m1");
    assert_eq!(play.pump(99), "z0 a0 m0 z1 a1 m1 drained");
}

#[test]
fn q3_a_newcomer_comes_at_the_virtual_time() {
    let mut play = queue(AFTER);
    play.enqueue("a0 a1 a2 a3 a4 a5");
    play.pump(4);
    play.enqueue("b0 b1 b2 b3 b4 b5");
    assert_eq!(play.pump(99), "b0 a4 b1 a5 b2 b3 b4 b5 drained");
}

#[test]
fn q4_absence_is_worth_one_turn() {
    let mut play = queue(AFTER);
    play.enqueue("b0 a0 a1 a2 a3 a4 a5");
    play.pump(6);
    play.enqueue("b1 b2 b3 b4");
    assert_eq!(play.pump(99), "b1 a5 b2 b3 b4 drained");
}

#[test]
fn q5_a_discard_to_nothing_costs_the_turn_but_not_before() {
    for (profile, order) in [(AFTER, "b0 c0 a1 drained"), (BEFORE, "a1 b0 c0 drained"), ("strict", "b0 c0 a1 drained")] {
        let mut play = queue(profile);
        play.enqueue("a0 b0 c0");
        assert_eq!(play.discard("a0"), r#"[["discarded","a0"]]"#);
        play.enqueue("a1");
        assert_eq!(play.pump(99), order, "{profile}");
    }
}

#[test]
fn q6_duplicates_and_stale_selections() {
    for profile in ["strict", BEFORE, AFTER, "slotwise"] {
        let mut play = queue(profile);
        assert_eq!(play.enqueue("a0 a1 a0"), r#"[["accepted","a0"],["accepted","a1"],["duplicate","a0"]]"#);
        assert_eq!(play.enqueue("a0 a1"), r#"[["duplicate","a0"],["duplicate","a1"]]"#);
        let select = |play: &mut Play| play.line(r#"{"do":"select"}"#);
        let commit = |play: &mut Play, version| play.line(&format!("{{\"do\":\"commit\",\"task\":\"a0\",\"version\":{version}}}"));
        assert_eq!(select(&mut play), r#"[["selected","a0",1]]"#);
        assert_eq!(play.discard("b0"), r#"[["unknown_task","b0"]]"#);
        assert_eq!(select(&mut play), r#"[["selected","a0",1]]"#);
        play.enqueue("b0");
        assert_eq!(commit(&mut play, 1), r#"[["stale_selection","a0"]]"#);
        play.discard("b0");
        assert_eq!(commit(&mut play, 2), r#"[["stale_selection","a0"]]"#);
        assert_eq!(commit(&mut play, 3), r#"[["started",1,"a0",{"llm":1}]]"#);
        assert_eq!(commit(&mut play, 4), r#"[["stale_selection","a0"]]"#);
        assert_eq!(play.enqueue("a0"), r#"[["accepted","a0"]]"#);
        assert_eq!(play.pump(99), "a1 a0 drained");
    }
}

#[test]
fn q8_the_newest_weight_counts() {
    let mut play = queue(AFTER).group("k", 1.0, None);
    play.enqueue("k0");
    play.respecify("k", 4.0, None);
    play.enqueue("k1");
    play.pump(1);
    assert_eq!(f64::from_bits(play.of(&["tags", "k"]) as u64), 0.25);
}

#[test]
fn q13_an_id_gets_its_old_entry_back() {
    for profile in ["strict", BEFORE, AFTER] {
        let mut play = queue(profile);
        play.enqueue("t0 t1 t2");
        play.discard("t1");
        play.enqueue("t1");
        assert_eq!(play.pump(99), "t0 t1 t2 drained");
        play.enqueue("t0 t1 t2");
        play.discard("t0");
        play.line(r#"{"do":"select"}"#);
        play.enqueue("t0");
        assert_eq!(play.pump(99), "t1 t2 t0 drained");
    }
    let mut play = queue("slotwise");
    play.enqueue("t0 t1 t2");
    play.discard("t1");
    play.enqueue("t1");
    assert_eq!(play.pump(99), "t0 t2 t1 drained");
}

#[test]
fn the_impossible_is_refused_or_waits_for_ever() {
    for (profile, seen) in [(AFTER, r#"[["accepted","a0"]]"#), ("slotwise", r#"[["refused","a0","never_fits"]]"#)] {
        for needs in [r#"{"llm":9}"#, r#"{"gpu":1}"#] {
            let mut play = Play::named(profile, &[("llm", 8)]).needs(needs);
            assert_eq!(play.enqueue("a0"), seen);
            assert_eq!(play.pump(9), if profile == AFTER { "blocked" } else { "drained" });
            play.discard("a0");
            assert_eq!(play.enqueue("a0"), seen);
        }
    }
}

#[test]
fn time_never_goes_back() {
    let mut play = queue(AFTER);
    play.line(r#"{"do":"pump","at_most":1,"at":5}"#);
    let line = r#"{"do":"enqueue","tasks":[{"id":"a","group":"a","needs":{"llm":1}}],"at":4}"#;
    assert_eq!(play.line(line), r#"[["time_reversed",5]]"#);
    assert_eq!(play.line(r#"{"do":"explain","at":9}"#), "[]");
    assert_eq!(play.of(&["now"]), 9);
}

#[test]
fn discards_by_condition_go_in_order_of_arrival() {
    for profile in ["strict", BEFORE, AFTER, "slotwise"] {
        let mut play = queue(profile);
        play.enqueue("b1 a1 b2 a2 b3");
        assert_eq!(play.line(r#"{"do":"discard_where","prefix":"b"}"#), r#"[["discarded","b1"],["discarded","b2"],["discarded","b3"]]"#);
        assert_eq!(play.line(r#"{"do":"discard_where","group":"a","prefix":"a2"}"#), r#"[["discarded","a2"]]"#);
        assert_eq!(play.line(r#"{"do":"discard_where","group":"zz"}"#), "[]");
        assert_eq!(play.line(r#"{"do":"discard_where"}"#), r#"[["discarded","a1"]]"#);
        assert_eq!(play.of(&["version"]), 6);
    }
}

#[test]
fn what_is_wrong_with_a_trace_is_said_with_its_line() {
    use slotwise_native::{faults::NONE, trace::run};
    let header =
        r#"{"slotwise":1,"mechanism":"admission","profile":{"name":"x","discipline":{"type":"strict"}},"setup":{"capacity":{"llm":2}}}"#;
    for (line, what) in [
        (r#"{"do":"pump"}"#, "line 2: field `at_most` of pump is missing"),
        (r#"{"do":"pump","at_most":-1}"#, "line 2: at_most must be 0 to 2147483647, found -1"),
        (r#"{"do":"pump","at_most":1,"lease":3}"#, "line 2: pump has no field `lease`"),
        (r#"{"do":"jump"}"#, "line 2: field `do`: no command \"jump\" is known"),
        (r#"{"do":"enqueue","tasks":[{"id":"a","group":"a","needs":{"llm":0}}]}"#, "line 2: a must need 1 to 2147483647 of llm, found 0"),
        (r#"{"do":"enqueue","tasks":[{"id":"a","group":"a","needs":{}}]}"#, "line 2: expected units of at least one resource"),
        (r#"{"do":"select","at":1152921504606846977}"#, "line 2: at must be 0 to 1152921504606846976, found 1152921504606846977"),
    ] {
        let error = run(format!("{header}\n{line}\n").as_bytes(), NONE).expect_err("a wrong line");
        assert!(error.starts_with(what), "{error}");
    }
    assert!(run(header.as_bytes(), NONE).is_err());
    assert_eq!(run(format!("{header}\n").as_bytes(), NONE), Ok(Vec::new()));
    let other = header.replace(":1,", ":2,");
    assert!(run(format!("{other}\n").as_bytes(), NONE).is_err_and(|error| error.starts_with("line 1: field `slotwise`")));
    for (profile, capacity) in [("strict", r#"{"llm":0}"#), ("slow", r#"{"llm":1}"#)] {
        let header = format!(
            r#"{{"slotwise":1,"mechanism":"admission","profile":{{"name":"x","discipline":{{"type":"{profile}"}}}},"setup":{{"capacity":{capacity}}}}}"#
        );
        assert!(run(format!("{header}\n").as_bytes(), NONE).is_err());
    }
}

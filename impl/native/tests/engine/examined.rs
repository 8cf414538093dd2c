//! However many groups there are, few heads are examined for one dispatch.
use crate::play::Play;
use slotwise_native::cycle::{LOADS, cycle};
use slotwise_native::words::Profile;

#[test]
fn few_heads_are_examined_for_one_dispatch() {
    for profile in ["strict", "data-designer-0.8", "data-designer-0.9", "slotwise"] {
        for load in LOADS {
            let (_, most) = cycle(load, profile, 512, 300).expect("a known load");
            assert!((1..=64).contains(&most), "{profile}, {load}: {most}");
        }
    }
    assert!(cycle("none", "strict", 4, 4).is_err() && cycle("plain", "none", 4, 4).is_err() && cycle("plain", "strict", 0, 4).is_err());
}

/// Many shapes that share a resource, and each with one of its own: a group keeps its place when its next head has another shape.
#[test]
fn a_group_keeps_its_place_from_one_shape_to_another() {
    for name in ["strict", "data-designer-0.9"] {
        let profile = Profile { discarded_task_lingers: false, ..Profile::named(name).expect("a known profile") };
        let mut play = Play::new(&profile, &[("llm", 1), ("one", 1), ("two", 1), ("three", 1)]).group("a", 1.0, Some(4));
        for (id, needs) in [("c1", "three"), ("a1", "one"), ("a2", "two"), ("a3", "one"), ("b1", "three")] {
            play.one(id, &format!("{{\"llm\":1,{needs:?}:1}}"));
        }
        assert_eq!(play.pump(99), "c1 blocked");
        play.discard("a1");
        assert_eq!(play.pump(99), "blocked");
        play.discard("a2");
        assert_eq!((play.release(1), play.release(2), play.release(3)), ("a3 blocked".into(), "b1 drained".into(), "drained".into()));
    }
}

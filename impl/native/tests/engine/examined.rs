//! However many groups there are, few heads are examined for one dispatch.
use slotwise_native::cycle::{LOADS, cycle};

#[test]
fn few_heads_are_examined_for_one_dispatch() {
    for profile in ["strict", "data-designer-0.9"] {
        for load in LOADS {
            let (_, most) = cycle(load, profile, 512, 300).expect("a known load");
            assert!((1..=64).contains(&most), "{profile}, {load}: {most}");
        }
    }
    assert!(cycle("none", "strict", 4, 4).is_err() && cycle("plain", "none", 4, 4).is_err() && cycle("plain", "strict", 0, 4).is_err());
}

use proptest::prelude::*;

use super::*;
use crate::payload::placement::{OFTEN, ROTATION};
use breezeway_os::segment;

const FIRST: usize = 8 * PAGE;
const CAP: usize = 1024 * PAGE;

fn segments() -> Segments {
    Segments::new(FIRST, CAP)
}

/// Adds a segment as a session does when `len` bytes do not fit. Returns false if the cap does
/// not allow it.
fn grow(segments: &mut Segments, len: usize) -> bool {
    let Some(size) = segments.growth(len) else { return false };
    segments.add(segment::create(size).unwrap().0);
    true
}

fn take(segments: &mut Segments, len: usize) -> Place {
    segments.take(len, true).unwrap_or_else(|| {
        assert!(grow(segments, len), "{len} bytes");
        segments.take(len, true).expect("the new segment has room")
    })
}

fn sizes(segments: &Segments) -> Vec<usize> {
    segments.list.iter().map(|segment| segment.mapping.size() / PAGE).collect()
}

/// Ends `count` windows in which nothing is taken, and retires the unneeded segments.
fn windows(segments: &mut Segments, count: u32) {
    for _ in 0..count {
        segments.age();
        if let Some(size) = segments.modest_growth() {
            segments.add(segment::create(size).unwrap().0);
        }
        while let Some(number) = segments.unneeded() {
            segments.retire(number, 0);
        }
    }
}

#[test]
fn first_segment_has_first_size_or_the_messages() {
    assert_eq!(segments().growth(1), Some(FIRST));
    assert_eq!(segments().growth(FIRST / 2), Some(FIRST));
    assert_eq!(segments().growth(FIRST + 1), Some(FIRST + PAGE));
    assert_eq!(segments().growth(CAP), Some(CAP));
    assert_eq!(segments().growth(CAP + 1), None);
    assert_eq!(Segments::new(1, CAP).growth(1), Some(PAGE));
    assert_eq!(Segments::new(FIRST, PAGE).growth(PAGE), Some(PAGE));
}

#[test]
fn new_segment_doubles_memory_up_to_cap() {
    let mut segments = segments();
    take(&mut segments, FIRST);
    assert_eq!(segments.growth(PAGE), Some(2 * (FIRST + PAGE)));
    take(&mut segments, CAP / 2);
    assert_eq!(segments.total(), CAP);
    assert_eq!(segments.growth(1), None);
}

#[test]
fn space_is_taken_from_the_smallest_segment_that_has_it() {
    let mut segments = segments();
    segments.add(segment::create(3 * FIRST).unwrap().0);
    let large = take(&mut segments, FIRST + 1);
    let mut small = segments.take(PAGE, true).unwrap();
    assert_eq!(small.segment, large.segment, "there is room enough");
    segments.give_back(small, PAGE);
    segments.add(segment::create(2 * PAGE).unwrap().0);
    for _ in 0..3 {
        small = segments.take(2 * PAGE, true).unwrap();
        assert_eq!(small, Place { segment: 1, offset: 0 });
        segments.give_back(small, 2 * PAGE);
    }
    assert_eq!(segments.take(2 * PAGE + 1, true).unwrap().segment, large.segment);
}

/// Takes and gives back messages of this size, and returns their places.
fn one_by_one(segments: &mut Segments, len: usize, count: usize) -> Vec<(u32, usize)> {
    let one = |_| {
        let place = take(segments, len);
        segments.give_back(place, len);
        (place.segment, place.offset)
    };
    (0..count).map(one).collect()
}

/// Takes and gives back as many bytes of messages as begin a busy window.
fn busy(segments: &mut Segments, round: usize) {
    one_by_one(segments, ROTATED_FROM, round / ROTATED_FROM);
    segments.placement.next = 0;
}

#[test]
fn messages_go_around_in_a_segment_that_has_room_for_it() {
    let mut segments = Segments::new(ROTATION, 64 << 20);
    let half = ROTATION / 2;
    busy(&mut segments, ROTATION);
    assert_eq!(one_by_one(&mut segments, half, 3), [(0, 0), (0, half), (0, 0)]);
    assert_eq!(one_by_one(&mut segments, half + 1, 2), [(0, 0), (0, 0)], "two do not fit");
    assert_eq!(one_by_one(&mut segments, ROTATED_FROM - 1, 2), [(0, 0), (0, 0)], "too small");
    let kept = take(&mut segments, ROTATED_FROM);
    assert_eq!(kept.offset, half, "behind the last of those that went around");
    let wide = take(&mut segments, half);
    assert_eq!(wide.offset, 0);
    let behind = take(&mut segments, ROTATED_FROM);
    assert_eq!(behind.offset, half + ROTATED_FROM, "past what is taken");
    for (place, len) in [(kept, ROTATED_FROM), (wide, half), (behind, ROTATED_FROM)] {
        segments.give_back(place, len);
    }
    assert!(segments.spare().is_some(), "all of it is free again");
}

#[test]
fn for_a_peer_that_is_far_more_memory_is_gone_around_in() {
    let mut segments = Segments::new(32 << 20, 64 << 20);
    segments.placement.far_size = 8 << 20;
    segments.placement.set_far(true);
    busy(&mut segments, 8 << 20);
    let places = one_by_one(&mut segments, ROTATION, 5);
    assert_eq!(places, [0, 1, 2, 3, 0].map(|turn| (0, turn * ROTATION)));
    segments.placement.set_far(false);
    assert_eq!(one_by_one(&mut segments, ROTATION, 2), [(0, 0), (0, 0)]);
}

#[test]
fn messages_go_around_from_a_busy_window_on_until_one_is_quiet() {
    let mut segments = Segments::new(ROTATION, 64 << 20);
    let len = 64 << 10;
    let mut goes_around = |count| {
        let places = one_by_one(&mut segments, len, count);
        segments.age();
        places.windows(2).any(|pair| pair[0] != pair[1])
    };
    assert!(!goes_around(ROTATION / len), "in the first window from its {ROTATION} bytes on");
    assert!(goes_around(2), "the next one from its beginning");
    assert!(!goes_around(ROTATION / len), "after one in which there was little, anew");
    assert!(goes_around(ROTATION / len));
    assert!(goes_around(2));
}

#[test]
fn distant_traffic_asks_for_no_growth_once_near() {
    let mut segments = Segments::new(ROTATION, 64 << 20);
    segments.placement.far_size = 8 << 20;
    segments.placement.set_far(true);
    one_by_one(&mut segments, ROTATION / 2, 2 * OFTEN);
    segments.placement.set_far(false);
    assert_eq!(segments.round_growth(), None);
}

#[test]
fn a_segment_to_go_around_in_is_for_messages_that_come_often() {
    let mut segments = Segments::new(64 << 10, 64 << 20);
    let often = OFTEN * ROTATION / (64 << 10);
    one_by_one(&mut segments, 64 << 10, often - 1);
    assert!(!segments.have_grown() && segments.round_growth().is_none());
    windows(&mut segments, 1);
    one_by_one(&mut segments, 64 << 10, often - 1);
    assert!(!segments.have_grown(), "not within a window");
    one_by_one(&mut segments, 64 << 10, 1);
    assert!(segments.have_grown());
    let size = segments.round_growth().unwrap();
    assert_eq!((size, segments.round_growth()), (ROTATION, None));
    segments.add(segment::create(size).unwrap().0);
    assert_eq!(one_by_one(&mut segments, 64 << 10, 2), [(1, 0), (1, 64 << 10)]);
    one_by_one(&mut segments, 64 << 10, often);
    assert_eq!(segments.round_growth(), None, "there is one");
    windows(&mut segments, QUIET_SPARE + 1);
    assert_eq!(sizes(&segments), [16], "which goes when it is not needed");
    let mut full = Segments::new(64 << 10, 64 << 20);
    one_by_one(&mut full, 63 << 20, 1);
    one_by_one(&mut full, 64 << 10, often);
    assert_eq!(full.round_growth(), None, "the cap leaves no room");
}

#[test]
fn other_segment_is_tried_only_after_collecting() {
    let mut segments = segments();
    segments.add(segment::create(4 * FIRST).unwrap().0);
    assert_eq!(segments.take(FIRST, false), None, "a small message, and no small segment");
    assert_eq!(segments.take(FIRST + 1, false).unwrap().segment, 0);
    segments.add(segment::create(FIRST).unwrap().0);
    assert_eq!(segments.take(FIRST, false).unwrap().segment, 1);
    assert_eq!(segments.take(1, false), None, "one is full");
    assert_eq!(segments.take(FIRST + 1, false).unwrap().segment, 0, "which is too small");
    assert_eq!(segments.take(1, true).unwrap().segment, 0);
}

#[test]
fn unneeded_segments_are_retired_except_first_and_spare() {
    let mut segments = segments();
    let held = [1, FIRST, 3 * FIRST, 9 * FIRST].map(|len| (take(&mut segments, len), len));
    assert_eq!(sizes(&segments), [8, 18, 66, 210]);
    for (place, len) in held {
        segments.give_back(place, len);
    }
    windows(&mut segments, 1);
    assert_eq!(sizes(&segments), [8, 18, 66, 210], "all were needed in this window");
    windows(&mut segments, 1);
    assert_eq!(sizes(&segments), [8, 210]);
    windows(&mut segments, QUIET_SPARE - 2);
    assert_eq!(sizes(&segments), [8, 210]);
    windows(&mut segments, 1);
    assert_eq!(sizes(&segments), [8]);
    assert!(!segments.have_grown());
    windows(&mut segments, 100);
    assert_eq!(sizes(&segments), [8]);
}

#[test]
fn a_segment_from_which_something_is_taken_stays() {
    let mut segments = segments();
    let held = take(&mut segments, FIRST / 2);
    let large = take(&mut segments, 20 * FIRST);
    segments.give_back(held, FIRST / 2);
    windows(&mut segments, 100);
    assert_eq!(sizes(&segments).len(), 2);
    segments.give_back(large, 20 * FIRST);
    windows(&mut segments, 100);
    assert_eq!(sizes(&segments), [8]);
}

#[test]
fn small_messages_move_out_of_a_large_segment_so_that_it_can_go() {
    let mut segments = segments();
    let large = take(&mut segments, 50 * FIRST);
    segments.give_back(large, 50 * FIRST);
    assert_eq!(sizes(&segments), [400]);
    for _ in 0..3 * QUIET_SPARE {
        let small = take(&mut segments, PAGE);
        segments.give_back(small, PAGE);
        windows(&mut segments, 1);
    }
    assert_eq!(sizes(&segments), [8]);
    assert_eq!(segments.next_number(), 2);
}

/// Takes one message of `len` bytes in each of `count` windows, after which nothing else is
/// there.
fn now_and_then(segments: &mut Segments, len: usize, count: u32) {
    for _ in 0..count {
        one_by_one(segments, len, 1);
        windows(segments, 1);
    }
}

#[test]
fn rare_messages_move_out_of_a_large_segment() {
    let mut segments = Segments::new(64 << 10, 64 << 20);
    one_by_one(&mut segments, 48 << 20, 1);
    now_and_then(&mut segments, ROTATED_FROM, 3 * QUIET_SPARE);
    assert_eq!(sizes(&segments), [16]);
}

#[test]
fn rotation_segment_is_retired_when_messages_are_rare() {
    let mut segments = Segments::new(64 << 10, 64 << 20);
    one_by_one(&mut segments, 64 << 10, OFTEN * ROTATION / (64 << 10));
    let size = segments.round_growth().unwrap();
    segments.add(segment::create(size).unwrap().0);
    now_and_then(&mut segments, 64 << 10, 2 * QUIET_SPARE);
    assert_eq!(sizes(&segments), [16]);
}

#[test]
fn a_large_segment_goes_while_many_messages_go_around() {
    let mut segments = Segments::new(64 << 10, 64 << 20);
    one_by_one(&mut segments, 48 << 20, 1);
    for _ in 0..2 * QUIET_SPARE {
        one_by_one(&mut segments, 64 << 10, OFTEN * ROTATION / (64 << 10));
        if let Some(size) = segments.round_growth() {
            segments.add(segment::create(size).unwrap().0);
        }
        windows(&mut segments, 1);
    }
    assert_eq!(sizes(&segments), [ROTATION / PAGE]);
}

#[test]
fn kept_message_leaves_rest_of_small_cap_in_one_piece() {
    let mut segments = Segments::new(1 << 20, 1 << 20);
    for _ in 0..2 * ROTATION / ROTATED_FROM {
        let kept = take(&mut segments, ROTATED_FROM);
        let large = segments.take(600 << 10, true).expect("most of it is free");
        segments.give_back(large, 600 << 10);
        segments.give_back(kept, ROTATED_FROM);
    }
}

#[test]
fn where_the_cap_is_small_none_of_it_is_spent_on_going_around() {
    let mut segments = Segments::new(64 << 10, 4 << 20);
    assert_eq!(segments.round_growth(), None);
    one_by_one(&mut segments, 16 << 10, 2 * OFTEN * ROTATION / (16 << 10));
    assert_eq!(segments.round_growth(), None);
    assert!(!segments.have_grown());
}

#[test]
fn a_message_now_and_then_keeps_the_spare() {
    let mut segments = segments();
    let mut added = 0;
    for round in 0..50 {
        let place = take(&mut segments, 10 * FIRST);
        segments.give_back(place, 10 * FIRST);
        windows(&mut segments, QUIET_SPARE - 1);
        if round == 0 {
            added = segments.next_number();
        }
    }
    assert_eq!(segments.next_number(), added);
}

#[test]
fn retired_segments_stay_within_the_cap() {
    let mut segments = segments();
    segments.add(segment::create(CAP / 2).unwrap().0);
    take(&mut segments, CAP / 4);
    let mut retire = |position| {
        let place = take(&mut segments, CAP / 4 + PAGE);
        segments.give_back(place, CAP / 4 + PAGE);
        let may = segments.may_retire(place.segment, 0);
        if may {
            segments.retire(place.segment, position);
        }
        (place.segment, may)
    };
    assert!(retire(1).1 && retire(2).1, "two halves of the cap");
    let (third, may) = retire(3);
    assert!(!may, "the peer may have a whole cap");
    assert!(!segments.may_retire(third, 1));
    assert!(segments.may_retire(third, 2), "the peer has dropped both");
}

#[test]
fn the_number_of_segments_is_bounded() {
    let mut segments = Segments::new(PAGE, CAP);
    for _ in 0..MAX_SEGMENTS {
        segments.add(segment::create(PAGE).unwrap().0);
    }
    assert!(segments.are_all());
    assert_eq!(segments.growth(1), None);
}

/// One step of a sender.
#[derive(Clone, Debug)]
enum Step {
    Take(usize),
    GiveBack(prop::sample::Index),
    Window,
    Far(bool),
    Round,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1usize..4 * PAGE).prop_map(Step::Take),
        2 => (1usize..CAP / 3).prop_map(Step::Take),
        2 => (ROTATED_FROM..12 * PAGE).prop_map(Step::Take),
        6 => any::<prop::sample::Index>().prop_map(Step::GiveBack),
        1 => Just(Step::Window),
        1 => any::<bool>().prop_map(Step::Far),
        1 => Just(Step::Round),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn taken_places_never_overlap_and_all_return(
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut segments = segments();
        // Small enough that a segment is soon added, and that some messages are too long for
        // it.
        (segments.placement.near_size, segments.placement.far_size) = (24 * PAGE, 96 * PAGE);
        let mut model: Vec<(Place, usize)> = Vec::new();
        for step in steps {
            match step {
                Step::Take(len) => {
                    let fits = segments.can_make_room(len);
                    let place = segments.take(len, true).or_else(|| {
                        while segments.growth(len).is_none() {
                            let spare = segments.spare().filter(|_| fits)?;
                            segments.retire(spare, 0);
                        }
                        assert!(grow(&mut segments, len));
                        segments.take(len, true)
                    });
                    if let Some(place) = place {
                        for &(other, other_len) in &model {
                            prop_assert!(
                                place.segment != other.segment
                                    || place.offset + len <= other.offset
                                    || other.offset + other_len <= place.offset
                            );
                        }
                        model.push((place, len));
                    } else {
                        prop_assert!(!fits);
                    }
                }
                Step::GiveBack(index) if !model.is_empty() => {
                    let (place, len) = model.swap_remove(index.index(model.len()));
                    segments.give_back(place, len);
                }
                Step::GiveBack(_) => {}
                Step::Window => windows(&mut segments, 1),
                Step::Far(is_far) => segments.placement.set_far(is_far),
                Step::Round => {
                    // As after many more messages.
                    segments.placement.bytes = segments.placement.bytes.saturating_mul(OFTEN);
                    if let Some(size) = segments.round_growth() {
                        segments.add(segment::create(size).unwrap().0);
                    }
                }
            }
            let taken: usize = model.iter().map(|&(_, len)| rounded(len)).sum();
            prop_assert_eq!(segments.taken(), taken);
            prop_assert!(segments.total() <= CAP);
            let total: usize = segments.list.iter().map(|segment| segment.mapping.size()).sum();
            prop_assert_eq!(segments.total(), total);
            for &(place, len) in &model {
                prop_assert!(place.offset + len <= segments.mapping(place).size());
            }
        }
        for (place, len) in model {
            segments.give_back(place, len);
        }
        windows(&mut segments, 2 + QUIET_SPARE);
        prop_assert!(sizes(&segments).len() <= 1);
        prop_assert_eq!(segments.taken(), 0);
    }

    #[test]
    fn repeated_traffic_needs_no_further_segments(
        lens in prop::collection::vec(1usize..CAP / 24, 1..40),
        depth in 1usize..6,
    ) {
        let mut segments = segments();
        let mut flying = std::collections::VecDeque::new();
        let mut rounds = |count: usize| {
            for _ in 0..count {
                for &len in &lens {
                    flying.push_back((take(&mut segments, len), len));
                    if flying.len() > depth {
                        let (place, len) = flying.pop_front().unwrap();
                        segments.give_back(place, len);
                    }
                }
                windows(&mut segments, 1);
            }
            segments.next_number()
        };
        let warm = rounds(50);
        prop_assert_eq!(rounds(100), warm);
    }
}

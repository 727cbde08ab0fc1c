//! Where the names of lines stand, so that none covers another.

/// Positions as close to `wanted` as can be, in the same order from top to bottom, at least `apart`
/// and between `top` and `bottom`, as far as there is room.
pub(crate) fn spread(wanted: &[f64], apart: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&one, &other| wanted[one].total_cmp(&wanted[other]));
    let mut placed: Vec<f64> = order.iter().map(|&index| wanted[index].max(top)).collect();
    push_down(&mut placed, apart);
    push_up(&mut placed, apart, bottom);
    let mut positions = vec![0.0; wanted.len()];
    for (index, position) in order.into_iter().zip(placed) {
        positions[index] = position;
    }
    positions
}

fn push_down(placed: &mut [f64], apart: f64) {
    for index in 1..placed.len() {
        placed[index] = placed[index].max(placed[index - 1] + apart);
    }
}

fn push_up(placed: &mut [f64], apart: f64, bottom: f64) {
    let mut limit = bottom;
    for position in placed.iter_mut().rev() {
        *position = position.min(limit);
        limit = *position - apart;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_room_stay_where_they_are() {
        assert_eq!(spread(&[90.0, 10.0, 50.0], 12.0, 0.0, 100.0), [90.0, 10.0, 50.0]);
    }

    #[test]
    fn close_names_move_apart_and_keep_their_order() {
        assert_eq!(spread(&[50.0, 48.0, 49.0], 10.0, 0.0, 100.0), [68.0, 48.0, 58.0]);
    }

    #[test]
    fn names_stay_inside() {
        assert_eq!(spread(&[99.0, 98.0, -5.0], 10.0, 0.0, 100.0), [100.0, 90.0, 0.0]);
        assert_eq!(spread(&[], 10.0, 0.0, 100.0), [0.0; 0]);
    }
}

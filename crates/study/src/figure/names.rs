//! Names beside their marks, where there is room for them.

use crate::chart::{Label, Side, text_width};

/// How far beyond its panel a name may stand \[px\].
const BEYOND: f64 = 6.0;
/// Half of a node's width plus the gap to its name \[px\].
const NODE: f64 = 4.0;

/// Something with a name.
pub(super) struct Named {
    /// Where it is, in the units of the axes.
    pub(super) at: [f64; 2],
    pub(super) text: String,
    /// On which side its name stands best.
    pub(super) side: Side,
}

/// Places names so that they touch neither each other nor other marks, on a panel so wide and high \[px\] with these axis ends.
/// Each stands on its preferred side or else on another; a name without room on any side is left out.
pub(super) fn beside(
    all: Vec<Named>,
    [width, height]: [f64; 2],
    across: (f64, f64),
    up: (f64, f64),
) -> Vec<Label> {
    let pixel = |[x, y]: [f64; 2]| {
        [(x - across.0) / (across.1 - across.0) * width, (up.1 - y) / (up.1 - up.0) * height]
    };
    let node = |named: &Named| {
        let [x, y] = pixel(named.at);
        [x - NODE, y - NODE, x + NODE, y + NODE]
    };
    let mut taken: Vec<[f64; 4]> = all.iter().map(node).collect();
    let mut labels = Vec::new();
    for Named { at, text, side } in all {
        let fits = |side: &Side| {
            let room = room(pixel(at), &text, *side);
            let [left, top, right, bottom] = room;
            let inside =
                left > -BEYOND && right < width + BEYOND && top > -BEYOND && bottom < height + BEYOND;
            inside && !taken.iter().any(|other| touch(&room, other))
        };
        let sides = [side, Side::Right, Side::Left, Side::Above, Side::Below];
        let Some(side) = sides.into_iter().find(fits) else { continue };
        taken.push(room(pixel(at), &text, side));
        labels.push(Label { x: at[0], y: at[1], text, side });
    }
    labels
}

/// Where a name of twelve pixels' height stands: left, top, right, bottom.
fn room([x, y]: [f64; 2], text: &str, side: Side) -> [f64; 4] {
    let width = text_width(text);
    let (left, middle) = match side {
        Side::Left => (x - 7.0 - width, y),
        Side::Right => (x + 7.0, y),
        Side::Above => (x - width / 2.0, y - 11.0),
        Side::Below => (x - width / 2.0, y + 12.0),
        Side::Within => (x - width / 2.0, y),
    };
    [left, middle - 6.5, left + width, middle + 6.5]
}

fn touch(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_goes_where_there_is_room_or_is_left_out() {
        let named = |x: f64| Named { at: [x, 50.0], text: "node-1".into(), side: Side::Right };
        let ends = (0.0, 100.0);
        let sides = |at: &[f64]| -> Vec<Side> {
            let all = at.iter().map(|&x| named(x)).collect();
            beside(all, [100.0, 100.0], ends, ends).iter().map(|label| label.side).collect()
        };
        assert_eq!(sides(&[30.0]), [Side::Right]);
        assert_eq!(sides(&[80.0]), [Side::Left], "it stays on the panel");
        assert_eq!(sides(&[30.0, 50.0]), [Side::Above, Side::Right]);
        assert_eq!(sides(&[50.0, 52.0, 54.0, 56.0, 58.0]).len(), 2, "above and below the crowd");
    }
}

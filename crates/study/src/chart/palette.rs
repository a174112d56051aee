//! Colours and dashes.

use super::Key;

/// Told apart by colour-blind readers too (after Okabe and Ito), and neither lost on white nor on black.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#b3a100", "#858585"];
/// Lighter and darker relatives, for areas, which have no dashes.
const MORE_COLOURS: [&str; 16] = [
    "#7fb8d8", "#f2cf80", "#7fceb9", "#eaae80", "#e5bcd3", "#abd9f4", "#d9d080", "#c2c2c2", "#004b75",
    "#976800", "#00684c", "#8c3e00", "#86506e", "#38769a", "#766a00", "#575757",
];
/// Lengths of dashes and gaps \[px\].
const DASHES: [&str; 5] = ["", "7 3", "2 2", "10 3 2 3", "4 2 1 2"];

/// Colours of areas.
pub(crate) fn fills(names: &[&str]) -> Vec<Key> {
    let colours = COLOURS.iter().chain(&MORE_COLOURS).cycle();
    keys(names, colours)
}

/// Colours of lines, and their dashes: a second and a third eight of lines have the same colours, and others dashes.
pub(crate) fn strokes(names: &[&str]) -> (Vec<Key>, Vec<Key>) {
    let of_each = DASHES.iter().flat_map(|dash| [dash; COLOURS.len()]).cycle();
    (keys(names, COLOURS.iter().cycle()), keys(names, of_each))
}

/// A dash for each.
pub(crate) fn dashes(names: &[&str]) -> Vec<Key> {
    keys(names, DASHES.iter().cycle())
}

/// The number of lines that colours alone tell apart.
pub(crate) const STROKES: usize = COLOURS.len();

/// How many dashes can be told apart without colours.
pub(super) const DASHES_MAX: usize = DASHES.len();

fn keys<'a>(names: &[&str], looks: impl Iterator<Item = &'a &'a str>) -> Vec<Key> {
    let key = |(name, look): (&&str, &&str)| Key { name: (*name).into(), look: (*look).into() };
    names.iter().zip(looks).map(key).collect()
}

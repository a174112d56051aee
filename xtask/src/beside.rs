//! Parts that run beside others.

/// Parts that leave a processor idle, each with the parts that run beside it, one after the other. Most of the playground's time is
/// a chain of crates, on one processor, in a build folder of its own. Tests of the live part
/// wait for the kernel's clock more than they compute; environments of Python wait for a server.
const BESIDE: [(&str, &[&str]); 2] = [
    ("play", &["formatting", "python", "dependencies", "packaging", "lints"]),
    ("live", &["lints", "docs", "module"]),
];

/// Groups of parts, by their places, in the order in which they run: parts of a group run at once ([`BESIDE`]).
pub(crate) fn groups(names: &[&str]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let beside = BESIDE.iter().filter(|(_, others)| others.contains(name));
        let place = |(first, _): &(&str, _)| groups.iter().position(|group| names[group[0]] == *first);
        match beside.into_iter().find_map(place) {
            Some(group) => groups[group].push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_run_beside_those_that_leave_a_processor() {
        let names = ["tidy", "play", "formatting", "tests", "live", "lints", "docs", "module"];
        assert_eq!(groups(&names), [vec![0], vec![1, 2, 5], vec![3], vec![4, 6, 7]]);
        let without_play = ["tidy", "formatting", "tests", "live", "lints", "docs"];
        assert_eq!(groups(&without_play), [vec![0], vec![1], vec![2], vec![3, 4, 5]]);
        assert_eq!(groups(&["tidy", "docs"]), [vec![0], vec![1]]);
    }
}

//! Other simulators' results, as their scripts in validation/ wrote them down.

/// Means over seeds of lines "name seed number number …", in the order in which the names first come.
pub(crate) fn means(text: &str) -> Vec<(String, Vec<f64>)> {
    let numbers = |columns: Vec<(f64, f64)>| columns.into_iter().map(|(mean, _)| mean).collect();
    means_and_errors(text).into_iter().map(|(name, columns)| (name, numbers(columns))).collect()
}

/// The same with standard errors.
pub(crate) fn means_and_errors(text: &str) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut groups: Vec<(String, Vec<Vec<f64>>)> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(_seed)) = (words.next(), words.next()) else { continue };
        let numbers: Vec<f64> = words.map(|word| word.parse().expect("a number")).collect();
        match groups.iter_mut().find(|(n, ..)| n == name) {
            Some((_, rows)) => rows.push(numbers),
            None => groups.push((name.into(), vec![numbers])),
        }
    }
    groups.into_iter().map(|(name, rows)| (name, mean_and_error(&rows))).collect()
}

/// The mean of each column of numbers, and its standard error; none is known of one row.
pub fn mean_and_error(rows: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let count = rows.len() as f64;
    (0..rows[0].len())
        .map(|column| {
            let mean = rows.iter().map(|row| row[column]).sum::<f64>() / count;
            let squares = rows.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>();
            (mean, if rows.len() > 1 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 })
        })
        .collect()
}

/// The numbers of each seed of one name, from lines "name seed number number …".
pub(crate) fn seeds(text: &str, name: &str) -> Vec<Vec<f64>> {
    text.lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        .map(|line| line.split_whitespace().skip(1).map(|word| word.parse().expect("a number")).collect())
        .collect()
}

/// The number in a name.
pub(crate) fn count(name: &str) -> u32 {
    name.parse().expect("a count")
}

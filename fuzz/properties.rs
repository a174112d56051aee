// Properties of every text. The fuzz targets and a test of evenair-agreement (tests/languages.rs) include this file.

/// A scenario is refused with a message, or accepted; then it is written out in full, and reads back to the same.
///
/// # Panics
/// If that does not hold.
pub(crate) fn scenario(text: &str) {
    let Ok(scenario) = evenair_scenario::Resolved::parse("fuzz.toml", text, &[]) else { return };
    let written = scenario.to_toml().expect("what was read can be written");
    let again = evenair_scenario::Resolved::parse("written.toml", &written, &[])
        .unwrap_or_else(|error| panic!("what was written out is refused: {error}\n{written}"));
    assert_eq!(again.to_toml().expect("as before"), written, "written out twice");
}

/// A study is refused with a message, or accepted.
///
/// # Panics
/// If reading it does.
pub(crate) fn study(text: &str) {
    // The text says which study it is.
    let id = text.lines().find_map(|line| line.strip_prefix("id = \"")?.split('"').next());
    if let Ok(study) = evenair_study::Study::parse(id.unwrap_or_default(), text) {
        assert!(!study.variants.is_empty() && study.seeds > 0);
    }
}

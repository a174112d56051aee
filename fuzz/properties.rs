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

/// A file of nodes or links is refused with a message, or gives a network that does without it.
///
/// # Panics
/// If that does not hold.
pub(crate) fn listed(name: &str, text: &str) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    std::fs::write(folder.path().join(name), text).expect("there is room for a file");
    let file = folder.path().join("fuzz.toml");
    for list in [
        "radio = { transmission_range = '1 m', carrier_sense_range = '1 m' }\nnodes",
        "mac = { kind = 'ideal' }\nlinks",
    ] {
        std::fs::write(&file, format!("{list} = {{ file = '{name}' }}\n")).expect("there is room for a file");
        match evenair_scenario::Resolved::load_network(&file, &[]) {
            Ok(network) => {
                let written = network.to_toml().expect("what was read can be written");
                let again = evenair_scenario::Resolved::parse_network("written.toml", &written, &[]);
                let again = again
                    .unwrap_or_else(|error| panic!("what was written out is refused: {error}\n{written}"));
                assert_eq!(again, network, "it does without the file");
            }
            Err(error) => assert!(error.to_string().contains("fuzz.toml:"), "{error}"),
        }
    }
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

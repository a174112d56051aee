//! Nodes that are attached to the outside.

use super::*;

fn chain(outside: &str) -> Result<Resolved, ScenarioError> {
    parse(&format!(
        "radio = {{ transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }}
        nodes = [{{ id = \"a\", at = [0, 0] }}, {{ id = \"b\", at = [200, 0] }}, {{ id = \"c\", at = [400, 0] }},
            {{ id = \"far\", at = [9000, 0] }}]
        flows = [{{ id = \"f\", from = \"a\", to = \"b\" }}]\noutside = {outside}\n"
    ))
}

#[test]
fn between_any_two_of_them_leads_the_way_with_the_fewest_hops() {
    let scenario = chain(r#"["c", "a", "b"]"#).unwrap();
    assert_eq!(scenario.network().routes, [vec![2, 1, 0], vec![2, 1], vec![0, 1]]);
    assert!(chain("[]").unwrap().network().routes.is_empty());
}

#[test]
fn mistakes_say_what_is_wrong() {
    for (outside, why) in [
        (r#"["a", "d"]"#, "outside: there is no node \"d\"; nodes are a, b, c, far"),
        (r#"["a", "a"]"#, "outside: \"a\" is there already"),
        (r#"["a"]"#, "outside: packets go from one node to another: name two at least"),
        (r#"["a", "far"]"#, "outside: there is no route from \"a\" to \"far\""),
    ] {
        let error = chain(outside).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn what_is_written_out_reads_back() {
    let scenario = chain(r#"["a", "c"]"#).unwrap();
    let again = scenario.written_out().resolve().unwrap();
    assert_eq!(
        (again.settings().outside.as_slice(), &again),
        (&["a".to_string(), "c".into()][..], &scenario)
    );
}

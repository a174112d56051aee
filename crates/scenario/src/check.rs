//! Checks that look at more than one key.

use crate::error::Mistake;
use crate::language::{At, Scenario};
use crate::read::Needs;
use evenair_units::{is_printable, printable};
use std::collections::BTreeSet;

/// So much of a text is shown that is not a name.
const SHOWN_MAX: usize = 60;

const HARMFUL: &str = "it has characters that terminals take for commands; leave them out";

/// Why an id cannot be a name, if it cannot: names stand in terminals, and at the beginning of cells that spreadsheets read.
fn no_name(id: &str) -> Option<&'static str> {
    let begins_formula = id.starts_with(['=', '+', '-', '@']);
    [
        (id.is_empty(), "it is empty"),
        (id.contains('>'), "it has a \">\""),
        (id.contains(['\n', '\r', '\t']) || !is_printable(id), HARMFUL),
        (begins_formula, "spreadsheets take it for a formula; begin it with a letter or a digit"),
    ]
    .into_iter()
    .find_map(|(is, why)| is.then_some(why))
}

impl Scenario {
    /// Checks relations between tables.
    pub(crate) fn check(&self, needs: Needs) -> Result<(), Mistake> {
        self.check_shape(needs)?;
        self.check_names()?;
        self.check_obstacles()?;
        self.check_values()
    }

    fn check_shape(&self, needs: Needs) -> Result<(), Mistake> {
        if self.duration.0.is_zero() {
            return Err(Mistake::at("duration", "must be above 0 s"));
        }
        if let Some(share) = self.domain_capacity.filter(|share| !(*share > 0.0 && *share <= 2.0)) {
            let why =
                format!("{share} is not allowed: a share of what a lone hop carries, above 0 and at most 2");
            return Err(Mistake::at("domain_capacity", why));
        }
        if needs == Needs::Traffic && self.flows.is_empty() && self.outside.is_empty() {
            let why = "there is no flow; add a [[flows]] table with id, from and to, or attach nodes to the outside (outside)";
            return Err(Mistake::at("flows", why));
        }
        let placed = self.nodes.iter().any(|node| node.at.is_some());
        if !self.signals.is_empty() && placed {
            return Err(Mistake::at("signals", "give either signals or positions, not both"));
        }
        let on_air = placed || !self.signals.is_empty();
        match (self.nodes.is_empty(), self.links.is_empty()) {
            (true, true) => {
                Err(Mistake::at("nodes", "there is no network; add [[nodes]] with positions, or [[links]]"))
            }
            (false, false) => {
                Err(Mistake::at("links", "give either nodes with positions or links and conflicts, not both"))
            }
            (false, true) if self.radio.is_none() && on_air => Err(Mistake::at(
                "radio",
                "nodes with positions need a [radio] with transmission_range and carrier_sense_range, or receive_threshold and carrier_sense_threshold",
            )),
            (true, false) if self.radio.is_some() => {
                Err(Mistake::at("radio", "has no meaning where links and conflicts are given outright"))
            }
            (false, true) if !self.conflicts.is_empty() => {
                Err(Mistake::at("conflicts", "follow from the positions; they are given only with [[links]]"))
            }
            _ => Ok(()),
        }
    }

    fn check_names(&self) -> Result<(), Mistake> {
        fn unique<'a>(table: &str, ids: impl Iterator<Item = &'a String>) -> Result<(), Mistake> {
            let mut seen = BTreeSet::new();
            for (index, id) in ids.enumerate() {
                if let Some(why) = no_name(id) {
                    let id = printable(id, SHOWN_MAX);
                    return Err(Mistake::entry(table, index, "id", format!("\"{id}\" is not a name: {why}")));
                }
                if !seen.insert(id.as_str()) {
                    return Err(Mistake::entry(
                        table,
                        index,
                        "id",
                        format!("\"{id}\" is there already; ids must differ"),
                    ));
                }
            }
            Ok(())
        }
        for (key, text) in [("name", &self.name), ("description", &self.description)] {
            if !is_printable(text) {
                let why = format!("\"{}\": {HARMFUL}", printable(text, SHOWN_MAX));
                return Err(Mistake::at(key, why));
            }
        }
        unique("nodes", self.nodes.iter().map(|n| &n.id))?;
        unique("flows", self.flows.iter().map(|f| &f.id))?;
        unique("links", self.links.here().iter().map(|l| &l.id))?;
        for (index, link) in self.links.here().iter().enumerate() {
            if link.from == link.to {
                return Err(Mistake::entry(
                    "links",
                    index,
                    "to",
                    "a link ends at another node than it begins",
                ));
            }
        }
        Ok(())
    }

    fn check_obstacles(&self) -> Result<(), Mistake> {
        if !self.walls.is_empty() && !self.nodes.iter().any(|node| node.at.is_some()) {
            return Err(Mistake::at("walls", "stand between nodes with positions, and no node has one"));
        }
        let has_places = self.signals.is_empty() && self.nodes.iter().any(|node| node.at.is_some());
        let radio = self.radio.as_ref();
        let of_places = [
            ("radio.shadowing", radio.is_some_and(|radio| radio.shadowing.is_some())),
            ("radio.storey", radio.is_some_and(|radio| radio.storey.is_some())),
        ];
        if let Some((key, _)) = of_places.iter().find(|(_, given)| *given && !has_places) {
            return Err(Mistake::at(key, "needs nodes with positions, and no measured signals"));
        }
        for (index, wall) in self.walls.iter().enumerate() {
            let wrong = |key, why| Err(Mistake::entry("walls", index, key, why));
            if ![wall.from, wall.to].iter().flatten().all(|x| x.is_finite() && x.abs() < 1e9) {
                return wrong("from", "a wall's ends are metres, less than 1e9 of them");
            }
            if (0..2).all(|of| (wall.to[of] - wall.from[of]).abs() <= 0.0) {
                return wrong("to", "a wall ends at another place than it begins");
            }
            if !(wall.loss.0 > 0.0 && wall.loss.0 <= 200.0) {
                return wrong("loss", "a wall weakens signals by more than 0 dB, and 200 dB at most");
            }
        }
        Ok(())
    }

    fn check_values(&self) -> Result<(), Mistake> {
        for (index, node) in self.nodes.iter().enumerate() {
            if !node.at.iter().flat_map(At::coordinates).all(|x| x.is_finite() && x.abs() < 1e9) {
                let why = "coordinates are metres from a point near by, less than 1e9 of them: no radio reaches further";
                return Err(Mistake::entry("nodes", index, "at", why));
            }
        }
        Ok(())
    }
}

//! The names of nodes, and the nodes that have them.

use evenair_service::meant::did_you_mean;
use std::collections::BTreeMap;
use std::ops::Deref;

/// The names of all nodes, in order, with an index: large networks are asked for a name with each flow.
#[derive(Clone)]
pub(super) struct Names {
    all: Vec<String>,
    places: BTreeMap<String, u32>,
}

impl Names {
    pub(super) fn of(all: Vec<String>) -> Self {
        let places = all.iter().cloned().zip(0..).collect();
        Self { all, places }
    }

    /// The number of the node with this name.
    pub(super) fn number(&self, id: &str) -> Result<u32, String> {
        self.places.get(id).copied().ok_or_else(|| no_node(id, &self.all))
    }

    pub(super) fn into_vec(self) -> Vec<String> {
        self.all
    }
}

impl Deref for Names {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.all
    }
}

/// The number of the node with this name, for a caller that asks once.
pub(crate) fn node_number(id: &str, names: &[String]) -> Result<u32, String> {
    names.iter().position(|name| name == id).map(|place| place as u32).ok_or_else(|| no_node(id, names))
}

/// Why a name is no node's.
fn no_node(id: &str, names: &[String]) -> String {
    if let Some(meant) = did_you_mean(id, names) {
        return format!("there is no node \"{id}\"; {meant}");
    }
    let known = match names.len() {
        0..=40 => names.join(", "),
        n => format!("{}, … {} ({n} of them)", names[..5].join(", "), names[n - 1]),
    };
    format!("there is no node \"{id}\"; nodes are {known}")
}

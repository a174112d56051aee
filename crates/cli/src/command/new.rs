//! `evenair new`: a scenario to begin with.

mod imported;

use crate::output::{Overwrite, print, shell_word};
use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(
    after_help = "The file is yours: edit it. Each line that matters is explained in it, and it runs as it is.\n\n\
    Examples:\n  \
    evenair new first.toml\n  \
    evenair show first.toml\n  \
    evenair run first.toml\n  \
    evenair new mesh.toml --template mesh\n\n\
    From a spreadsheet with the names of its columns in the first line (id, and latitude and longitude or x and y in metres):
  \
    evenair new street.toml --from nodes.csv --flows flows.csv

\
    From a map or a graph:
  \
    evenair new town.toml --from map.geojson
  \
    evenair new backbone.toml --from topology.graphml"
)]
pub(crate) struct NewOptions {
    /// The file that is written
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// The network that it begins with
    #[arg(long, value_enum, default_value_t = Template::Cell)]
    pub(crate) template: Template,
    /// A file of nodes to begin with, instead of a template: .csv, .geojson or .graphml
    #[arg(long, value_name = "NODES", conflicts_with = "template")]
    pub(crate) from: Option<PathBuf>,
    /// A CSV file of flows between them; without, each node uploads to the first one
    #[arg(long, value_name = "FLOWS.csv", requires = "from")]
    pub(crate) flows: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Template {
    /// An access point and its stations
    Cell,
    /// Hops in a row
    Chain,
    /// Two senders that do not hear each other, and a receiver that hears both
    Hidden,
    /// Nodes at random places that send to a gateway over each other
    Mesh,
    /// A gateway that gives each of its subscribers a rate
    Gateway,
    /// Two access points of 802.11ac that send many packets in a frame
    Modern,
}

impl Template {
    const fn text(self) -> &'static str {
        match self {
            Self::Cell => include_str!("../templates/cell.toml"),
            Self::Chain => include_str!("../templates/chain.toml"),
            Self::Hidden => include_str!("../templates/hidden.toml"),
            Self::Mesh => include_str!("../templates/mesh.toml"),
            Self::Gateway => include_str!("../templates/gateway.toml"),
            Self::Modern => include_str!("../templates/modern.toml"),
        }
    }
}

/// The templates' word for the file's own name.
const FILE: &str = "FILE";

pub(crate) fn new(options: &NewOptions) -> Result<()> {
    let NewOptions { file, template, from, flows, overwrite } = options;
    let is_toml = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    ensure!(is_toml, "{}: scenarios are TOML files; give the file the ending .toml", file.display());
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let text = match from {
        Some(nodes) => imported::scenario(file, nodes, flows.as_deref())?,
        None => template.text().into(),
    };
    let text = text.replace(FILE, &shell_word(&name));
    overwrite.write(file, text.as_bytes())?;
    let path = shell_word(&Path::new(file).to_string_lossy());
    print(&format!(
        "{} is written: edit it, and look at it with evenair show {path}, run it with evenair run {path}\n",
        file.display()
    ))
}

//! Captures of a run: of the whole air into one file, or of each node into a file of its own.

use crate::output::{Overwrite, say_kept};
use anyhow::{Context, Result, bail, ensure};
use evenair_netsim::pcap::PcapWriter;
use evenair_netsim::{FrameSink, MacSpec};
use evenair_results::OutputFile;
use evenair_scenario::Resolved;
use std::io::BufWriter;
use std::path::Path;

/// The number of files that may be open at once.
const NODES_MAX: usize = 500;

/// A capture of the first seed's frames.
pub(crate) struct Capture(PcapWriter<BufWriter<OutputFile>>);

impl Capture {
    /// Tries the place before anything is computed: a folder, or a name that ends in a separator, is for captures by node. Only
    /// the owner may read captures of real packets.
    pub(crate) fn create(
        scenario: &Resolved,
        path: &Path,
        overwrite: Overwrite,
        is_real: bool,
    ) -> Result<Self> {
        let network = scenario.network();
        let MacSpec::Dcf { timing, .. } = network.mac else {
            bail!("ideal CSMA has no frames, so that --pcap has nothing to write; captures are of 802.11");
        };
        let create = |path: &Path| -> Result<_> {
            let file = overwrite.create(path)?;
            if is_real {
                file.keep_private()?;
            }
            Ok(BufWriter::new(file))
        };
        let is_folder = path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/');
        if !is_folder {
            return Ok(Self(PcapWriter::new(create(path)?, network.nodes.len(), timing)?));
        }
        ensure!(
            network.nodes.len() <= NODES_MAX,
            "a capture per node is for {NODES_MAX} nodes at most, and there are {}: name a file for one of the whole air",
            network.nodes.len()
        );
        std::fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
        let files = (0..network.nodes.len()).map(|node| create(&path.join(file_name(&network.nodes, node))));
        Ok(Self(PcapWriter::by_node(files.collect::<Result<_, _>>()?, timing)?))
    }

    /// Where the frames go, while the run goes on.
    pub(crate) fn sink(&mut self) -> &mut (dyn FrameSink + Send) {
        &mut self.0
    }

    /// The run is over: the captures are put in place.
    pub(crate) fn finish(self) -> Result<()> {
        for file in self.0.finish().context("cannot write the capture")? {
            say_kept(file.into_inner().context("cannot write the capture")?.finish()?);
        }
        Ok(())
    }
}

/// A node's name, with its number where that is no name of a file, or another node's is the same to a disk that knows no capitals.
fn file_name(nodes: &[String], node: usize) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let plain = |name: &str| name.replace(|c| !is_plain(c), "_").to_lowercase();
    let name = plain(&nodes[node]);
    let is_alone = nodes.iter().filter(|other| plain(other) == name).count() == 1;
    if is_alone && nodes[node].chars().all(is_plain) && !name.is_empty() {
        return format!("{}.pcap", nodes[node]);
    }
    format!("{name}-{node}.pcap")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_nodes_names_where_they_can() {
        let nodes = ["s1", "r 1", "A", "a", ""].map(String::from);
        let names: Vec<String> = (0..nodes.len()).map(|node| file_name(&nodes, node)).collect();
        assert_eq!(names, ["s1.pcap", "r_1-1.pcap", "a-2.pcap", "a-3.pcap", "-4.pcap"]);
    }
}

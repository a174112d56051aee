//! The papers that evenair reproduces.

/// A paper, and the tag by which code, studies and reports cite it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paper {
    /// Its tag, without brackets.
    pub tag: &'static str,
    /// Who wrote it; nothing where that is not known.
    pub authors: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Where it appeared, and when.
    pub published: &'static str,
    /// What it is about, for someone who has not read it.
    pub about: &'static str,
}

/// All of them, the oldest first.
pub const PAPERS: [Paper; 5] = [
    Paper {
        tag: "CZ06",
        authors: "M. Chen, A. Zakhor",
        title: "Flow Control over Wireless Network and Application Layer Implementation",
        published: "INFOCOM 2006",
        about: "TCP takes losses of a radio link for congestion; as many connections as the link loses packets fill it again.",
    },
    Paper {
        tag: "Chen10",
        authors: "W. Chen",
        title: "TCP Reno over Adaptive CSMA",
        published: "M.Phil. thesis, The Chinese University of Hong Kong, 2010",
        about: "TCP starves links that hear many others; a channel access that follows the queues, and connections in proportion to the round trip, cure it.",
    },
    Paper {
        tag: "Jam10",
        authors: "K. Jamshaid",
        title: "Centralized Rate Allocation and Control in 802.11-based Wireless Mesh Networks",
        published: "Ph.D. thesis, University of Waterloo, 2010",
        about: "In a mesh, flows over several hops starve beside those over one; the gateway, where all of them pass, can give each its share.",
    },
    Paper {
        tag: "Lee12",
        authors: "J. Lee, H.-W. Lee, Y. Yi, S. Chong",
        title: "Improving TCP Performance over Optimal CSMA in Wireless Multi-Hop Networks",
        published: "IEEE Communications Letters, 2012",
        about: "Channel access that follows the queues starves under TCP; virtual queues, which TCP does not see, keep it fair.",
    },
    Paper {
        tag: "QCSMA",
        authors: "",
        title: "Joint TCP congestion control and CSMA scheduling without message passing",
        published: "the title page of our copy is lost",
        about: "A TCP and a channel access that both follow queueing delay reach the best allocation without telling each other anything.",
    },
];

impl Paper {
    /// Authors, title and year in a line.
    pub fn reference(&self) -> String {
        let authors = if self.authors.is_empty() { String::new() } else { format!("{}: ", self.authors) };
        format!("{authors}{} ({})", self.title, self.published)
    }
}

/// The papers that a text cites by their tags in brackets.
pub fn cited(text: &str) -> impl Iterator<Item = &'static Paper> {
    PAPERS.iter().filter(move |paper| text.contains(&format!("[{}]", paper.tag)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Study, study_ids};

    #[test]
    fn every_study_of_a_paper_cites_it() {
        for paper in &PAPERS {
            let folder = format!("{}/", paper.tag.to_lowercase());
            let mut studies = study_ids().filter(|id| id.starts_with(&folder)).peekable();
            assert!(studies.peek().is_some(), "{}", paper.tag);
            for id in studies {
                let source = Study::builtin(id).unwrap().source;
                assert!(cited(&source).any(|p| p.tag == paper.tag), "{id}: {source}");
            }
        }
    }

    #[test]
    fn papers_are_called_as_in_the_list_of_citations() {
        let citations = include_str!("../../../docs/citations.md");
        for paper in PAPERS {
            assert!(citations.contains(&format!("[{}]", paper.tag)) && citations.contains(paper.title));
        }
    }
}

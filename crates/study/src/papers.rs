//! The papers that scenarios and studies are from.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// A paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Paper {
    /// The tag by which it is cited, without brackets.
    pub tag: &'static str,
    /// The folder of its scenarios and studies.
    pub folder: &'static str,
    /// Its authors; empty where they are not known.
    pub authors: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The kind of publication, and its place.
    pub published: &'static str,
    /// When, if that is known.
    pub year: Option<u16>,
    /// BibTeX's word for its kind.
    pub entry: &'static str,
    /// Its content, for a reader that has not read it.
    pub about: &'static str,
}

impl Paper {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self {
            tag: "Chen10",
            folder: "chen10",
            authors: "Wei Chen",
            title: "TCP Reno over Adaptive CSMA",
            published: "M.Phil. thesis, The Chinese University of Hong Kong",
            year: Some(2010),
            entry: "mastersthesis",
            about: "TCP starves links that hear many others; a channel access that follows the queues, and connections in proportion to the round trip, cure it.",
        },
        Self {
            tag: "Jam10",
            folder: "jam10",
            authors: "Kamran Jamshaid",
            title: "Centralized Rate Allocation and Control in 802.11-based Wireless Mesh Networks",
            published: "Ph.D. thesis, University of Waterloo",
            year: Some(2010),
            entry: "phdthesis",
            about: "In a mesh, flows over several hops starve beside those over one; the gateway, where all of them pass, can give each its share.",
        },
        Self {
            tag: "Lee12",
            folder: "lee12",
            authors: "Jinsung Lee, Hyang-Won Lee, Yung Yi and Song Chong",
            title: "Improving TCP Performance over Optimal CSMA in Wireless Multi-Hop Networks",
            published: "IEEE Communications Letters",
            year: Some(2012),
            entry: "article",
            about: "Channel access that follows the queues starves under TCP; virtual queues, which TCP does not see, keep it fair.",
        },
        Self {
            tag: "CZ06",
            folder: "cz06",
            authors: "Minghua Chen and Avidah Zakhor",
            title: "Flow Control over Wireless Network and Application Layer Implementation",
            published: "IEEE INFOCOM",
            year: Some(2006),
            entry: "inproceedings",
            about: "TCP takes losses of a radio link for congestion; several connections for one flow fill the link again.",
        },
        Self {
            tag: "QCSMA",
            folder: "qcsma",
            authors: "",
            title: "Joint TCP congestion control and CSMA scheduling without message passing",
            published: "authors and year not known: the title page of our copy is lost, and its text names neither",
            year: None,
            entry: "unpublished",
            about: "A TCP and a channel access that both follow queueing delay reach the best allocation without telling each other anything.",
        },
    ];

    /// The papers that a text cites by their tags in brackets.
    pub fn cited(text: &str) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |paper| text.contains(&format!("[{}]", paper.tag)))
    }

    /// The paper that a scenario or study is from, by its id; none of evenair's own.
    pub fn of(id: &str) -> Option<Self> {
        let (folder, _) = id.split_once('/')?;
        Self::ALL.into_iter().find(|paper| paper.folder == folder)
    }

    /// The paper of a tag or a folder, in any case of letters.
    pub fn named(name: &str) -> Option<Self> {
        let is_called =
            |paper: &Self| [paper.tag, paper.folder].iter().any(|word| word.eq_ignore_ascii_case(name));
        Self::ALL.into_iter().find(is_called)
    }

    /// As BibTeX has it, with a remark before it where something is not known.
    pub fn bibtex(&self) -> String {
        let Self { tag, authors, title, published, year, entry, .. } = *self;
        let place = match entry {
            "article" => vec![("journal", published)],
            "inproceedings" => vec![("booktitle", published)],
            "unpublished" => vec![("note", published)],
            _ => {
                let (kind, school) = published.split_once(", ").expect("a thesis names its school");
                vec![("type", kind), ("school", school)]
            }
        };
        let (authors, title) = (authors.replace(", ", " and "), format!("{{{title}}}"));
        let year = year.map(|year| year.to_string());
        let fields = [("author", authors.as_str()), ("title", &title)]
            .into_iter()
            .chain(place)
            .chain(year.as_deref().map(|year| ("year", year)))
            .filter(|(_, value)| !value.is_empty());
        let mut text = String::new();
        if authors.is_empty() {
            text += &format!(
                "% evenair does not know the authors of [{tag}]: complete the entry before you cite it.\n"
            );
        }
        text += &format!("@{entry}{{{tag},\n");
        fields.for_each(|(key, value)| text += &format!("  {key} = {{{value}}},\n"));
        text + "}\n"
    }
}

/// As it is cited: `[Lee12] Jinsung Lee, …: Improving …, IEEE Communications Letters, 2012`.
impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tag, authors, title, published, year, .. } = self;
        write!(f, "[{tag}] ")?;
        if !authors.is_empty() {
            write!(f, "{authors}: ")?;
        }
        write!(f, "{title}, {published}")?;
        year.map_or(Ok(()), |year| write!(f, ", {year}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_of_studies_but_our_own_is_papers() {
        let own =
            |id: &str| id == "demo" || ["gateway/", "wifi/"].iter().any(|folder| id.starts_with(folder));
        let strange: Vec<_> = crate::study_ids().filter(|id| Paper::of(id).is_some() == own(id)).collect();
        assert!(strange.is_empty(), "{strange:?}");
    }

    #[test]
    fn bibtex_has_authors_and_marks_unknown() {
        let of = |tag| Paper::ALL.into_iter().find(|paper| paper.tag == tag).unwrap().bibtex();
        let lee = of("Lee12");
        for line in [
            "@article{Lee12,",
            "  author = {Jinsung Lee and Hyang-Won Lee and Yung Yi and Song Chong},",
            "  title = {{Improving TCP Performance over Optimal CSMA in Wireless Multi-Hop Networks}},",
            "  journal = {IEEE Communications Letters},",
            "  year = {2012},",
        ] {
            assert!(lee.lines().any(|own| own == line), "{line}\n{lee}");
        }
        assert!(
            of("Chen10")
                .contains("  type = {M.Phil. thesis},\n  school = {The Chinese University of Hong Kong},\n")
        );
        let unknown = of("QCSMA");
        assert!(
            unknown.starts_with("% evenair does not know the authors of [QCSMA]")
                && !unknown.contains("author ="),
            "{unknown}"
        );
    }

    #[test]
    fn the_table_of_citations_has_the_same_papers() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/citations.md");
        let text = std::fs::read_to_string(path).unwrap();
        for paper in Paper::ALL {
            let row = text.lines().find(|line| line.contains(&format!("| [{}] |", paper.tag)));
            let row = row.unwrap_or_else(|| panic!("docs/citations.md has no row of {paper}"));
            assert!(row.contains(paper.title), "{row}");
            assert!(paper.year.is_none_or(|year| row.contains(&year.to_string())), "{row}");
        }
    }
}

//! The back-off of 802.11's enhanced distributed channel access: DCF's, with windows, a space and bursts per category.
//!
//! # Law
//! Each access category draws as DCF does from its own windows, waits for SIFS and `AIFSN` slots before it counts down,
//! and once it has won the medium may keep it for a TXOP.
//!
//! # Source
//! IEEE 802.11-2016 clauses 10.22.2.3 to 10.22.2.8, table 9-137.
//!
//! # Symbols
//! `CWmin`, `CWmax`, `AIFSN`, TXOP limit → [`CategoryParams`].
//!
//! # Signals
//! Outcomes only, as DCF.
//!
//! # Deviations
//! ns-2's DCF has no categories. There is no fluid drift, as with [`dcf`](super::dcf).
//!
//! # Example
//! ```
//! use evenair_laws::backoff::{BackoffLaw, Category, Draw, Edca, PhysicalLayer, Space};
//! let voice = Edca::standard(Category::Voice, PhysicalLayer::Ofdm);
//! assert_eq!(voice.access().draw, Draw::Slots { window: 3, end_included: true });
//! assert_eq!(voice.space(), Space::Aifs { slots: 2 });
//! ```

use super::{Access, BackoffLaw, Dcf, Holding, LinkRole, PhysicalLayer, Scope, Space, Surroundings};
use crate::{BadParameter, Parameters, check};
use evenair_units::Duration;

/// Access categories, the most urgent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Category {
    /// `AC_VO`.
    Voice,
    /// `AC_VI`.
    Video,
    /// `AC_BE`.
    #[default]
    BestEffort,
    /// `AC_BK`.
    Background,
}

impl Category {
    /// All of them, the most urgent first.
    pub const ALL: [Self; 4] = [Self::Voice, Self::Video, Self::BestEffort, Self::Background];

    /// Its abbreviation in the standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Voice => "vo",
            Self::Video => "vi",
            Self::BestEffort => "be",
            Self::Background => "bk",
        }
    }

    /// The category of packets with this DSCP (RFC 8325 section 4.3; RFC 8622 for the lowest).
    pub const fn of_dscp(dscp: u8) -> Self {
        match dscp {
            44 | 46 | 48 | 56 => Self::Voice,                          // VA, EF, CS6, CS7
            24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40 => Self::Video, // CS3, AF3x, CS4, AF4x, CS5
            1 | 8 => Self::Background,                                 // LE, CS1
            _ => Self::BestEffort,
        }
    }

    /// The DSCP that packets of this category usually have (RFC 4594 section 2.3): EF, AF41, DF, CS1.
    pub const fn dscp(self) -> u8 {
        match self {
            Self::Voice => 46,
            Self::Video => 34,
            Self::BestEffort => 0,
            Self::Background => 8,
        }
    }
}

/// Parameters of one access category; the standard's table gives the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CategoryParams {
    /// Window before the first attempt [slots].
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window_min: Option<u32>,
    /// Window that failures end at [slots].
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window_max: Option<u32>,
    /// The inter-frame space is SIFS and so many slots.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub aifsn: Option<u32>,
    /// How long a transmission opportunity lasts; one packet, if "0 s".
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub txop: Option<Duration>,
}

impl CategoryParams {
    fn resolve(&mut self, category: Category, layer: PhysicalLayer) {
        let standard = Edca::standard(category, layer);
        self.window_min.get_or_insert(standard.window_min);
        self.window_max.get_or_insert(standard.window_max);
        self.aifsn.get_or_insert(standard.aifsn);
        self.txop.get_or_insert(standard.txop_limit);
    }
}

/// Parameters of the law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct EdcaParams {
    /// `AC_VO`.
    pub voice: CategoryParams,
    /// `AC_VI`.
    pub video: CategoryParams,
    /// `AC_BE`.
    pub best_effort: CategoryParams,
    /// `AC_BK`.
    pub background: CategoryParams,
}

/// Names for faults of categories' parameters: four for each key, since names are static.
const KEYS: [[&str; 3]; 4] = [
    ["voice.window_min", "voice.window_max", "voice.aifsn"],
    ["video.window_min", "video.window_max", "video.aifsn"],
    ["best_effort.window_min", "best_effort.window_max", "best_effort.aifsn"],
    ["background.window_min", "background.window_max", "background.aifsn"],
];

impl EdcaParams {
    /// The parameters of one category.
    pub const fn category(&self, category: Category) -> &CategoryParams {
        match category {
            Category::Voice => &self.voice,
            Category::Video => &self.video,
            Category::BestEffort => &self.best_effort,
            Category::Background => &self.background,
        }
    }
}

impl Parameters for EdcaParams {
    type Surroundings = Surroundings;
    type Place = LinkRole;
    type Law = Edca;

    fn validated(self) -> Result<Self, BadParameter> {
        for (category, [window_min, window_max, aifsn]) in Category::ALL.into_iter().zip(KEYS) {
            let given = self.category(category);
            super::dcf::check_windows(given.window_min, given.window_max).map_err(|error| {
                let name = if error.name == "window_min" { window_min } else { window_max };
                BadParameter { name, ..error }
            })?;
            let slots = given.aifsn.unwrap_or(1);
            check(aifsn, f64::from(slots), (1..=15).contains(&slots), "between 1 and 15")?;
        }
        Ok(self)
    }

    fn resolve(&mut self, surroundings: &Surroundings) {
        let layer = surroundings.physical_layer;
        self.voice.resolve(Category::Voice, layer);
        self.video.resolve(Category::Video, layer);
        self.best_effort.resolve(Category::BestEffort, layer);
        self.background.resolve(Category::Background, layer);
    }

    fn begin(&self, role: &LinkRole) -> Edca {
        let given = self.category(role.category);
        let standard = Edca::standard(role.category, role.surroundings.physical_layer);
        Edca {
            window_min: given.window_min.unwrap_or(standard.window_min),
            window_max: given.window_max.unwrap_or(standard.window_max),
            aifsn: given.aifsn.unwrap_or(standard.aifsn),
            txop_limit: given.txop.unwrap_or(standard.txop_limit),
        }
    }
}

/// The law for one category; as DCF it has no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Edca {
    /// Contention window before the first attempt \[slots\].
    pub window_min: u32,
    /// Contention window that repeated failures end at \[slots\].
    pub window_max: u32,
    /// Arbitration inter-frame space: SIFS and so many slots.
    pub aifsn: u32,
    /// How long a transmission opportunity lasts; one packet, if zero.
    pub txop_limit: Duration,
}

impl Edca {
    /// The defaults of IEEE 802.11-2016 table 9-137; of 802.11n and later with the TXOP limits of IEEE 802.11-2020 table 9-155,
    /// but for best effort, which has one packet (or aggregate) there too instead of 2.528 ms, as access points and simulators
    /// have it.
    pub const fn standard(category: Category, layer: PhysicalLayer) -> Self {
        let (background_us, video_us, voice_us): (u64, u64, u64) = match layer {
            PhysicalLayer::Dsss => (0, 6_016, 3_264),
            PhysicalLayer::Ofdm => (0, 3_008, 1_504),
            PhysicalLayer::HighThroughput => (2_528, 4_096, 2_080),
        };
        let Dcf { window_min: window, window_max, .. } = Dcf::of(layer);
        let (window_min, window_max, aifsn, txop_us) = match category {
            Category::Background => (window, window_max, 7, background_us),
            Category::BestEffort => (window, window_max, 3, 0),
            Category::Video => (window.div_ceil(2) - 1, window, 2, video_us),
            Category::Voice => ((window + 1) / 4 - 1, window.div_ceil(2) - 1, 2, voice_us),
        };
        Self { window_min, window_max, aifsn, txop_limit: Duration::from_micros(txop_us) }
    }
}

impl BackoffLaw for Edca {
    fn scope(&self) -> Scope {
        Scope::Category
    }

    fn access(&self) -> Access {
        let dcf = Dcf { window_min: self.window_min, window_max: self.window_max, ..Dcf::dsss() };
        Access { holding: Holding::Burst(self.txop_limit), ..dcf.access() }
    }

    fn space(&self) -> Space {
        Space::Aifs { slots: self.aifsn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_table() {
        let row = |category, layer| {
            let p = Edca::standard(category, layer);
            (p.window_min, p.window_max, p.aifsn, p.txop_limit.as_nanos() / 1000)
        };
        assert_eq!(row(Category::Voice, PhysicalLayer::Ofdm), (3, 7, 2, 1504));
        assert_eq!(row(Category::Video, PhysicalLayer::Ofdm), (7, 15, 2, 3008));
        assert_eq!(row(Category::BestEffort, PhysicalLayer::Ofdm), (15, 1023, 3, 0));
        assert_eq!(row(Category::Background, PhysicalLayer::Ofdm), (15, 1023, 7, 0));
        assert_eq!(row(Category::Voice, PhysicalLayer::HighThroughput), (3, 7, 2, 2080));
        assert_eq!(row(Category::Video, PhysicalLayer::HighThroughput), (7, 15, 2, 4096));
        assert_eq!(row(Category::BestEffort, PhysicalLayer::HighThroughput), (15, 1023, 3, 0));
        assert_eq!(row(Category::Background, PhysicalLayer::HighThroughput), (15, 1023, 7, 2528));
        assert_eq!(row(Category::Voice, PhysicalLayer::Dsss), (7, 15, 2, 3264));
        assert_eq!(row(Category::Video, PhysicalLayer::Dsss), (15, 31, 2, 6016));
    }

    /// RFC 8325 section 4.3: its table, and unassigned code points.
    #[test]
    fn code_points_have_their_categories() {
        let all = |of: &[u8], category| of.iter().all(|&dscp| Category::of_dscp(dscp) == category);
        assert!(all(&[46, 48], Category::Voice) && all(&[34, 40], Category::Video));
        assert!(all(&[0, 10, 16, 18, 63], Category::BestEffort) && all(&[1, 8], Category::Background));
    }

    #[test]
    fn fault_is_named_by_its_category() {
        let bad = CategoryParams { aifsn: Some(16), ..CategoryParams::default() };
        let params = EdcaParams { video: bad, ..EdcaParams::default() };
        assert_eq!(params.validated().unwrap_err().name, "video.aifsn");
    }

    #[test]
    fn windows_are_named_by_their_category_too() {
        let windows = |least, most| CategoryParams {
            window_min: Some(least),
            window_max: Some(most),
            ..CategoryParams::default()
        };
        let bad = |voice| EdcaParams { voice, ..EdcaParams::default() }.validated().unwrap_err().name;
        assert_eq!(bad(windows(65_536, 65_536)), "voice.window_min");
        assert_eq!(bad(windows(31, 15)), "voice.window_max");
    }

    /// IEEE 802.11-2016 table 9-137 for OFDM; given values stay.
    #[test]
    fn defaults_are_the_standards() {
        let mut params = EdcaParams::default();
        params.background.aifsn = Some(9);
        params.resolve(&Surroundings { physical_layer: PhysicalLayer::Ofdm, ..Surroundings::default() });
        let row = |p: CategoryParams| (p.window_min, p.window_max, p.aifsn, p.txop);
        let us = |us| Some(Duration::from_micros(us));
        assert_eq!(row(params.voice), (Some(3), Some(7), Some(2), us(1504)));
        assert_eq!(row(params.video), (Some(7), Some(15), Some(2), us(3008)));
        assert_eq!(row(params.best_effort), (Some(15), Some(1023), Some(3), us(0)));
        assert_eq!(row(params.background), (Some(15), Some(1023), Some(9), us(0)));
    }

    #[test]
    fn a_category_draws_from_its_window_and_bursts() {
        let access = Edca::standard(Category::Voice, PhysicalLayer::Ofdm).access();
        assert_eq!(access.draw, crate::backoff::Draw::Slots { window: 3, end_included: true });
        assert_eq!(access.on_failure, crate::backoff::OnFailure::Double { window_max: 7 });
        assert_eq!(access.holding, Holding::Burst(Duration::from_micros(1504)));
    }

    /// RFC 4594 section 2.3: EF is 46, AF41 34, DF 0, CS1 8; IEEE 802.11-2016 clause 9.2.4.5.2: the abbreviations.
    #[test]
    fn categories_have_their_names_and_code_points() {
        assert_eq!(Category::ALL.map(Category::name), ["vo", "vi", "be", "bk"]);
        assert_eq!(Category::ALL.map(Category::dscp), [46, 34, 0, 8]);
    }
}

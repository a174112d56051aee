//! The modes of 802.11n, ac and ax: their keys, in `mac` and in entries of `rates`.

use crate::error::Mistake;
use crate::language::{BandName, MacTable, RateTable};
use crate::quantity::{Frequency, Time};
use evenair_units::Duration;
use evenair_wifi::{Band, Format, GuardInterval, Mode, Modulation, Phy, Width};

/// A key and its mistake.
type Wrong = (&'static str, String);

/// The keys of a mode, as far as they are given.
#[derive(Clone, Copy, Default)]
pub(crate) struct ModeKeys {
    mcs: Option<u32>,
    streams: Option<u32>,
    width: Option<Frequency>,
    guard_interval: Option<Time>,
}

impl ModeKeys {
    /// The first key that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let keys = [
            ("mcs", self.mcs.is_some()),
            ("streams", self.streams.is_some()),
            ("width", self.width.is_some()),
            ("guard_interval", self.guard_interval.is_some()),
        ];
        keys.into_iter().find(|(_, given)| *given).map(|(key, _)| key)
    }

    /// The modulation that these keys make of another.
    pub(crate) fn over(self, band: Band, other: Modulation) -> Result<Modulation, Wrong> {
        let small = |key, given: Option<u32>, otherwise: u8| match given {
            None => Ok(otherwise),
            Some(number) => u8::try_from(number).map_err(|_| (key, format!("{number} is too great"))),
        };
        let modulation = Modulation {
            mcs: small("mcs", self.mcs, other.mcs)?,
            streams: small("streams", self.streams, other.streams)?,
            width: self.width.map_or(Ok(other.width), width)?,
            guard_interval: self.guard_interval.map_or(Ok(other.guard_interval), guard_interval)?,
            ..other
        };
        if band == Band::Ghz2 && modulation.width > Width::Mhz40 {
            let why = format!("{} is for 5 and 6 GHz: at 2.4 GHz use 20 MHz or 40 MHz", modulation.width);
            return Err(("width", why));
        }
        Mode::of(modulation).map_err(|e| (self.given().unwrap_or("mcs"), e.to_string()))?;
        Ok(modulation)
    }
}

impl MacTable {
    /// The keys of its mode.
    pub(crate) const fn mode_keys(&self) -> ModeKeys {
        let Self { mcs, streams, width, guard_interval, .. } = *self;
        ModeKeys { mcs, streams, width, guard_interval }
    }

    /// The physical layer of 802.11n, ac or ax, and the mode of links that have none of their own. By default it is the fastest of the
    /// widest channel that every station has.
    pub(super) fn modulation(&mut self, format: Format) -> Result<(Phy, Modulation), Mistake> {
        let at = |(key, why): Wrong| Mistake::at(&format!("mac.{key}"), why);
        let band = self.band(format).map_err(at)?;
        let phy = match format {
            Format::Ht => Phy::n(band),
            Format::Vht => Phy::ac(),
            Format::He => Phy::ax(band),
        };
        let keys = self.mode_keys();
        let width = match (format, band) {
            (Format::Ht, _) | (_, Band::Ghz2) => Width::Mhz20,
            _ => Width::Mhz80,
        };
        let slowest = Modulation { format, mcs: 0, streams: 1, width, guard_interval: GuardInterval::Ns800 };
        let unspecified = ModeKeys { mcs: None, ..keys }.over(phy.band, slowest).map_err(at)?;
        let fastest = (0..=format.mcs_max()).rev().map(|mcs| Modulation { mcs, ..unspecified });
        let fastest = fastest.into_iter().find(|all| all.allowed()).unwrap_or(unspecified);
        let modulation = keys.over(phy.band, fastest).map_err(at)?;
        let Modulation { mcs, streams, width, guard_interval, .. } = modulation;
        if self.data_rate.is_none() {
            self.mcs = Some(mcs.into());
        }
        self.streams = Some(streams.into());
        self.width = Some(Frequency(width.as_mhz() as f64 * 1e6));
        self.guard_interval = Some(Time(Duration::from_nanos(guard_interval.as_nanos())));
        Ok((phy, modulation))
    }

    fn band(&mut self, format: Format) -> Result<Band, Wrong> {
        let name = *self.band.get_or_insert(BandName::Ghz5);
        let wrong = |why: &str| Err(("band", format!("{} {why}", name.text())));
        match (format, name) {
            (Format::Vht, BandName::Ghz2 | BandName::Ghz6) => wrong("has no 802.11ac: use 5 GHz"),
            (Format::Ht, BandName::Ghz6) => wrong("has no 802.11n: use 2.4 GHz or 5 GHz"),
            (_, BandName::Ghz2) => Ok(Band::Ghz2),
            (_, BandName::Ghz5) => Ok(Band::Ghz5),
            (_, BandName::Ghz6) => Ok(Band::Ghz6),
        }
    }
}

impl RateTable {
    /// The keys of its mode.
    pub(crate) const fn mode_keys(&self) -> ModeKeys {
        let Self { mcs, streams, width, guard_interval, .. } = *self;
        ModeKeys { mcs, streams, width, guard_interval }
    }
}

impl BandName {
    /// As scenarios write it.
    const fn text(self) -> &'static str {
        match self {
            Self::Ghz2 => "2.4 GHz",
            Self::Ghz5 => "5 GHz",
            Self::Ghz6 => "6 GHz",
        }
    }
}

fn width(given: Frequency) -> Result<Width, Wrong> {
    let is = |width: &Width| (width.as_mhz() as f64 * 1e6 - given.0).abs() < 1.0;
    let found = Width::ALL.into_iter().find(is);
    found.ok_or_else(|| ("width", format!("{given} is no width: use 20, 40, 80 or 160 MHz")))
}

fn guard_interval(given: Time) -> Result<GuardInterval, Wrong> {
    let found = GuardInterval::ALL.into_iter().find(|interval| interval.as_nanos() == given.0.as_nanos());
    let why = || format!("{given} is no guard interval: use 400, 800, 1600 or 3200 ns");
    found.ok_or_else(|| ("guard_interval", why()))
}

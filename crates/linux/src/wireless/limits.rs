//! The limits that a country sets to the registers of each access category on a channel, as ETSI EN 301 893 does on
//! 5 GHz.

use crate::netlink::attributes::{Attributes, u16_at, u32_of};
use crate::netlink::generic::attributes;
use std::io;

/// `NL80211_ATTR_WIPHY_BANDS`, `NL80211_BAND_ATTR_FREQS`, `NL80211_FREQUENCY_ATTR_FREQ` and `_WMM`.
const BANDS: u16 = 22;
const FREQUENCIES: u16 = 1;
const FREQUENCY: u16 = 1;
const RULE: u16 = 18;
/// `NL80211_WMMR_CW_MIN`, `CW_MAX`, `AIFSN` and `TXOP` \[µs\].
const WINDOW_MIN: u16 = 1;
const WINDOW_MAX: u16 = 2;
const AIFSN: u16 = 3;
const TXOP: u16 = 4;

/// The limits of one access category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// The least `CWmin` \[slots\].
    pub window_min: u16,
    /// The least `CWmax` \[slots\].
    pub window_max: u16,
    /// The least AIFSN \[slots\].
    pub aifsn: u8,
    /// The longest TXOP \[µs\].
    pub txop_us: u16,
}

impl Limit {
    fn of(rule: &Attributes<'_>) -> Option<Self> {
        let short = |kind| rule.find(kind).and_then(|value| u16_at(value, 0));
        Some(Self {
            window_min: short(WINDOW_MIN)?,
            window_max: short(WINDOW_MAX)?,
            aifsn: *rule.find(AIFSN)?.first()?,
            txop_us: short(TXOP)?,
        })
    }
}

/// Returns the limits of a channel in a message about a radio; none if it has none, or the message is about others.
pub(super) fn read(payload: &[u8], frequency_mhz: u32) -> io::Result<Option<[Limit; super::CATEGORIES]>> {
    for (_, band) in attributes(payload)?.within(BANDS) {
        for (_, channel) in Attributes::new(band).within(FREQUENCIES) {
            let channel = Attributes::new(channel);
            if channel.find(FREQUENCY).and_then(u32_of) != Some(frequency_mhz) || channel.find(RULE).is_none()
            {
                continue;
            }
            // Kinds are the categories' numbers, from 0 on.
            let mut limits = [None; super::CATEGORIES];
            for (category, rule) in channel.within(RULE) {
                if let Some(limit) = limits.get_mut(usize::from(category)) {
                    *limit = Limit::of(&Attributes::new(rule));
                }
            }
            if let [Some(voice), Some(video), Some(best_effort), Some(background)] = limits {
                return Ok(Some([voice, video, best_effort, background]));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::HEADER;
    use crate::netlink::generic::request;

    /// The regulatory database's rule of ETSI countries for clients, in Linux's order: voice, video, best effort, background.
    const ETSI: [(u16, u16, u8, u16); 4] =
        [(3, 7, 2, 2000), (7, 15, 2, 4000), (15, 1023, 3, 6000), (15, 1023, 7, 6000)];

    #[test]
    fn limits_of_a_channel_are_found() {
        let mut message = request(0x1d, 3);
        message.put_u32(1, 0).nest_unmarked(22, |bands| {
            bands.nest_unmarked(1, |band| {
                band.nest_unmarked(1, |frequencies| {
                    frequencies.nest_unmarked(0, |channel| {
                        channel.put_u32(1, 5745);
                    });
                    frequencies.nest_unmarked(1, |channel| {
                        channel.put_u32(1, 5180).nest_unmarked(18, |rule| {
                            for (number, (least, most, aifsn, txop)) in ETSI.into_iter().enumerate() {
                                rule.nest_unmarked(number as u16, |one| {
                                    one.put(1, &least.to_ne_bytes()).put(2, &most.to_ne_bytes());
                                    one.put(3, &[aifsn]).put(4, &txop.to_ne_bytes());
                                });
                            }
                        });
                    });
                });
            });
        });
        let bytes = &message.finish(1)[HEADER..];
        let limits = read(bytes, 5180).unwrap().unwrap();
        let expected = ETSI.map(|(window_min, window_max, aifsn, txop_us)| Limit {
            window_min,
            window_max,
            aifsn,
            txop_us,
        });
        assert_eq!(limits, expected);
        assert_eq!(read(bytes, 5745).unwrap(), None, "a channel without a rule");
        assert_eq!(read(bytes, 2412).unwrap(), None);
        for length in 4..bytes.len() {
            assert_eq!(read(&bytes[..length], 5180).ok().flatten(), None, "half a rule is none");
        }
    }
}

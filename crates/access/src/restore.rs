//! The registers that are put back. No interface of Linux has the values in force, so these are the operator's, those of
//! hostapd's file, or hostapd's defaults.

use evenair_laws::backoff::{Category, Registers};
use std::fmt;

/// Where the registers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The operator's file.
    Given,
    /// hostapd's file.
    Hostapd(String),
    /// hostapd's defaults.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given => f.write_str("as the file says"),
            Self::Hostapd(file) => write!(f, "as {file} says"),
            Self::Default => {
                f.write_str("hostapd's defaults; write restore = { hostapd = \"FILE\" } if it has others")
            }
        }
    }
}

/// hostapd's defaults (`hostapd_config_defaults_bss` in `src/ap/ap_config.c`): as seen at the driver when hostapd 2.10 starts.
pub const fn default(category: Category) -> Registers {
    let (window_min, window_max, aifsn, txop_units) = match category {
        Category::Voice => (3, 7, 1, 47),
        Category::Video => (7, 15, 1, 94),
        Category::BestEffort => (15, 63, 3, 0),
        Category::Background => (15, 1023, 7, 0),
    };
    Registers { window_min, window_max, aifsn, txop_units }
}

/// Returns the registers that hostapd sets by its file: `tx_queue_data0` to `data3`, voice to background, each with
/// `aifs`, `cwmin`, `cwmax` and `burst` \[ms\]. Keys that are not there have their defaults. A byte-order mark and the ends
/// of lines of other systems are skipped.
///
/// # Errors
/// Names the line that cannot be read.
pub fn of_hostapd(text: &str, category: Category) -> Result<Registers, String> {
    let prefix = format!("tx_queue_data{}_", crate::sensor::number(category));
    let mut registers = default(category);
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let Some((key, value)) = line.trim().split_once('=') else { continue };
        let Some(key) = key.trim().strip_prefix(&prefix) else { continue };
        let value = value.trim();
        let bad = || format!("line {}: {prefix}{key}={value}: not a value that hostapd takes", number + 1);
        let whole = |most: u32| value.parse::<u32>().ok().filter(|&value| value <= most).ok_or_else(bad);
        let window = |value| Some(value).filter(|&window| is_window(window));
        match key {
            "aifs" => registers.aifsn = whole(255)?,
            "cwmin" => registers.window_min = window(whole(32_767)?).ok_or_else(bad)?,
            "cwmax" => registers.window_max = window(whole(32_767)?).ok_or_else(bad)?,
            // Rounded to 32 us as hostapd's driver_nl80211.c does.
            "burst" => registers.txop_units = (tenths(value).ok_or_else(bad)? * 100 + 16) / 32,
            _ => (),
        }
    }
    if registers.window_min > registers.window_max {
        return Err(format!("{prefix}cwmin is above cwmax"));
    }
    Ok(registers)
}

/// Whether hostapd takes a window: 2^k − 1 slots.
pub(crate) const fn is_window(window: u32) -> bool {
    window >= 1 && window < u32::MAX && (window + 1).is_power_of_two()
}

/// Reads a time as hostapd does: whole milliseconds and at most one digit of a fraction, the others left out \[100 us\].
fn tenths(value: &str) -> Option<u32> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    let whole = whole.parse::<u32>().ok().filter(|&ms| ms <= 200)?;
    Some(whole * 10 + fraction.chars().next()?.to_digit(10)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example file of hostapd 2.10 has these lines; its driver gets 94 units for 3.0 ms and 47 for 1.5.
    #[test]
    fn hostapds_file_is_read() {
        let text = "interface=wlan0\n# tx_queue_data2_aifs=9\ntx_queue_data1_aifs=1\ntx_queue_data1_cwmin=7\n\
            tx_queue_data1_cwmax=15\ntx_queue_data1_burst=3.0\ntx_queue_data0_burst=1.5\ntx_queue_data2_cwmax=255\n";
        for category in [Category::Voice, Category::Video, Category::Background] {
            assert_eq!(of_hostapd(text, category), Ok(default(category)));
        }
        let other = Registers { window_max: 255, ..default(Category::BestEffort) };
        assert_eq!(of_hostapd(text, Category::BestEffort), Ok(other));
    }

    /// hostapd 2.10 reads `atoi` and one digit behind a point: 2.55 ms are 25 tenths, 2516 us of 32 are 78.
    #[test]
    fn odd_files_are_read_as_hostapd_does() {
        let text = "\u{feff}interface=wlan0\r\n\r\ntx_queue_data2_cwmin=31\r\ntx_queue_data2_burst=2.55\r\nssid=\"a=b\"\r\nbss=wlan0_1";
        let expected = Registers { window_min: 31, txop_units: 78, ..default(Category::BestEffort) };
        assert_eq!(of_hostapd(text, Category::BestEffort), Ok(expected));
        assert_eq!(of_hostapd("", Category::Voice), Ok(default(Category::Voice)));
        for bad in ["cwmin=\"15\"", "cwmin=0", "cwmin=16", "cwmax=", "burst=1,5", "burst=.5", "aifs=256"] {
            assert!(of_hostapd(&format!("tx_queue_data2_{bad}"), Category::BestEffort).is_err(), "{bad}");
        }
    }

    #[test]
    fn bad_line_is_named() {
        let refused = of_hostapd("\ntx_queue_data2_cwmin=x\n", Category::BestEffort).unwrap_err();
        assert!(refused.starts_with("line 2: tx_queue_data2_cwmin=x"), "{refused}");
        assert!(of_hostapd("tx_queue_data2_burst=-1", Category::BestEffort).is_err());
        assert!(of_hostapd("tx_queue_data2_cwmin=127", Category::BestEffort).is_err(), "above CWmax 63");
    }
}

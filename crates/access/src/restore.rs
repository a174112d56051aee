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
/// `aifs`, `cwmin`, `cwmax` and `burst` \[ms\]. Keys that are not there have their defaults.
///
/// # Errors
/// Names the line that cannot be read.
pub fn of_hostapd(text: &str, category: Category) -> Result<Registers, String> {
    let prefix = format!("tx_queue_data{}_", crate::sensor::number(category));
    let mut registers = default(category);
    for (number, line) in text.lines().enumerate() {
        let Some((key, value)) = line.trim().split_once('=') else { continue };
        let Some(key) = key.trim().strip_prefix(&prefix) else { continue };
        let value = value.trim();
        let bad = || format!("line {}: {prefix}{key}={value}: not a value that hostapd takes", number + 1);
        let whole = |most: u32| value.parse::<u32>().ok().filter(|&value| value <= most).ok_or_else(bad);
        match key {
            "aifs" => registers.aifsn = whole(255)?,
            "cwmin" => registers.window_min = whole(32_767)?,
            "cwmax" => registers.window_max = whole(32_767)?,
            // In tenths of a millisecond, rounded to 32 us as hostapd's driver_nl80211.c does.
            "burst" => {
                let tenths =
                    value.parse::<f64>().ok().filter(|ms| (0.0..=200.0).contains(ms)).ok_or_else(bad)?;
                registers.txop_units = ((tenths * 10.0).round() as u32 * 100 + 16) / 32;
            }
            _ => (),
        }
    }
    if registers.window_min == 0 || registers.window_min > registers.window_max {
        return Err(format!("{prefix}cwmin is 0 or above cwmax"));
    }
    Ok(registers)
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

    #[test]
    fn bad_line_is_named() {
        let refused = of_hostapd("\ntx_queue_data2_cwmin=x\n", Category::BestEffort).unwrap_err();
        assert!(refused.starts_with("line 2: tx_queue_data2_cwmin=x"), "{refused}");
        assert!(of_hostapd("tx_queue_data2_burst=-1", Category::BestEffort).is_err());
        assert!(of_hostapd("tx_queue_data2_cwmin=127", Category::BestEffort).is_err(), "above CWmax 63");
    }
}

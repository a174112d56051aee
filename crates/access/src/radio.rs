//! The access point: in the kernel, or in memory for tests.

use evenair_laws::backoff::{Category, RegisterLimits, Registers};
use evenair_linux::wireless::{Interface, Kind, Limit, Parameters, Station, Wireless};
use std::fmt;
use std::io;
use std::path::Path;

/// An access point's state, as far as registers depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The interface.
    pub interface: Interface,
    /// The limits that its country sets on its channel; none if it sets none.
    pub limits: Option<RegisterLimits>,
    /// Other access points of the same radio; many drivers have one set of registers for all.
    pub others: Vec<String>,
}

impl Found {
    /// Returns the reason for which no registers can be set, or none.
    pub fn against(&self) -> Option<String> {
        let name = &self.interface.name;
        let its = match self.interface.kind {
            Kind::AccessPoint => return None,
            Kind::Station => {
                "is a client: Linux sets registers of access points only, and a client takes its own from \
                its access point; run this there"
            }
            Kind::AdHoc => "is a member of an ad hoc network: Linux sets registers of access points only",
            Kind::Mesh => "is a mesh point: Linux sets registers of access points only",
            Kind::Monitor | Kind::Other(_) => {
                "is no access point: Linux sets registers of access points only"
            }
        };
        Some(format!("{name} {its}"))
    }
}

/// An access point that a daemon looks at, and sets.
pub trait Radio {
    /// Returns the interface as it is now; none if it is gone.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn find(&mut self) -> io::Result<Option<Found>>;

    /// Returns its stations.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn stations(&mut self) -> io::Result<Vec<Station>>;

    /// Sets the registers of the category.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn set(&mut self, registers: Registers) -> io::Result<()>;
}

/// An interface of this machine.
#[derive(Debug)]
pub struct Linux {
    wireless: Wireless,
    name: String,
    category: Category,
    index: Option<u32>,
}

impl Linux {
    /// Connects to the kernel.
    ///
    /// # Errors
    /// If it has no Wi-Fi.
    pub fn new(name: &str, category: Category) -> io::Result<Self> {
        let wireless = Wireless::new().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                io::Error::new(error.kind(), "this kernel has no Wi-Fi (nl80211); load its module")
            }
            _ => error,
        })?;
        Ok(Self { wireless, name: name.into(), category, index: None })
    }

    /// Returns the names of all Wi-Fi interfaces, in order.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn names(&mut self) -> io::Result<Vec<String>> {
        let mut names: Vec<_> =
            self.wireless.interfaces()?.into_iter().map(|interface| interface.name).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Returns all interfaces. Connects again if the kernel's Wi-Fi was loaded again, with another number of its family.
    fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        match self.wireless.interfaces() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.wireless = Wireless::new()?;
                self.wireless.interfaces()
            }
            found => found,
        }
    }

    fn index(&self) -> io::Result<u32> {
        self.index.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("{}: no such interface", self.name))
        })
    }
}

impl Radio for Linux {
    fn find(&mut self) -> io::Result<Option<Found>> {
        let mut others = self.interfaces()?;
        // A new name does not end a run: registers are to be put back there.
        let by_number = others.iter().position(|one| Some(one.index) == self.index);
        let Some(own) = by_number.or_else(|| others.iter().position(|one| one.name == self.name)) else {
            self.index = None;
            return Ok(None);
        };
        let interface = others.swap_remove(own);
        self.index = Some(interface.index);
        let limits = match interface.frequency_mhz {
            Some(frequency) => self.wireless.limits(interface.radio, frequency)?,
            None => None,
        };
        let limits = limits.map(|all| limit(all[crate::sensor::number(self.category)]));
        let is_other = |one: &Interface| one.radio == interface.radio && one.kind == Kind::AccessPoint;
        let mut others: Vec<_> = others.into_iter().filter(is_other).map(|one| one.name).collect();
        others.sort_unstable();
        Ok(Some(Found { interface, limits, others }))
    }

    fn stations(&mut self) -> io::Result<Vec<Station>> {
        let index = self.index()?;
        self.wireless.stations(index)
    }

    fn set(&mut self, registers: Registers) -> io::Result<()> {
        let index = self.index()?;
        self.wireless
            .set(index, parameters(self.category, registers))
            .map_err(|error| explained(&self.name, &error))
    }
}

/// A country's limits as the kernel cuts: TXOPs are in µs there, and rounded down.
fn limit(limit: Limit) -> RegisterLimits {
    RegisterLimits {
        window_min: limit.window_min.into(),
        window_max: limit.window_max.into(),
        aifsn: limit.aifsn.into(),
        txop_units: u32::from(limit.txop_us) / 32,
    }
}

fn parameters(category: Category, registers: Registers) -> Parameters {
    let Registers { window_min, window_max, aifsn, txop_units } = registers;
    Parameters {
        category: crate::sensor::number(category) as u8,
        window_min: window_min.try_into().unwrap_or(u16::MAX),
        window_max: window_max.try_into().unwrap_or(u16::MAX),
        aifsn: aifsn.try_into().unwrap_or(u8::MAX),
        txop_units: txop_units.try_into().unwrap_or(u16::MAX),
    }
}

/// A refusal, with its remedy. It keeps its kind, by which the daemon decides.
fn explained(name: &str, error: &io::Error) -> io::Error {
    let what = match error.kind() {
        io::ErrorKind::PermissionDenied => "setting registers needs CAP_NET_ADMIN; run it as root",
        io::ErrorKind::Unsupported => "this driver takes no contention windows; its firmware keeps them",
        io::ErrorKind::NetworkDown => "the interface is down; start hostapd",
        io::ErrorKind::InvalidInput => "it is no access point now",
        _ => return io::Error::new(error.kind(), format!("cannot set registers of {name}: {error}")),
    };
    io::Error::new(error.kind(), format!("cannot set registers of {name}: {error}: {what}"))
}

/// Returns the driver of an interface, by its link in /sys.
pub fn driver(name: &str) -> Option<String> {
    let link = std::fs::read_link(Path::new("/sys/class/net").join(name).join("device/driver")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

/// The facts about a driver, from the sources of Linux 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Its firmware keeps the registers.
    TakesNone,
    /// It has one set for the whole radio.
    WholeRadio,
    /// Nothing.
    Nothing,
}

impl Known {
    /// Returns the facts about a driver.
    pub fn of(driver: &str) -> Self {
        match driver {
            "brcmfmac" | "mwifiex_pcie" | "mwifiex_sdio" | "mwifiex_usb" | "ath6kl_sdio" | "ath6kl_usb" => {
                Self::TakesNone
            }
            "ath5k" | "ath9k" | "ath9k_htc" | "mt7915e" | "mt7603e" | "mt76x0e" | "mt76x2e" => {
                Self::WholeRadio
            }
            _ => Self::Nothing,
        }
    }
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TakesNone => "takes no contention windows: its firmware keeps them",
            Self::WholeRadio => "has one set of registers for all access points of a radio",
            Self::Nothing => {
                "the driver's handling of registers is not known; see: evenair backoff check --trial"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn country_limits_are_in_units_of_32_us() {
        let best_effort = Limit { window_min: 15, window_max: 1023, aifsn: 3, txop_us: 6000 };
        let expected = RegisterLimits { window_min: 15, window_max: 1023, aifsn: 3, txop_units: 187 };
        assert_eq!(limit(best_effort), expected);
    }

    #[test]
    fn categories_have_the_kernels_numbers() {
        let registers = Registers { window_min: 15, window_max: 1023, aifsn: 3, txop_units: 187 };
        let numbers = Category::ALL.map(|category| parameters(category, registers).category);
        assert_eq!(numbers, [0, 1, 2, 3], "NL80211_AC_VO, VI, BE, BK");
    }

    #[test]
    fn refusal_names_remedy() {
        let said = |code| explained("wlan0", &io::Error::from_raw_os_error(code));
        // EPERM 1, EOPNOTSUPP 95, ENETDOWN 100, EINVAL 22.
        assert!(said(1).to_string().contains("CAP_NET_ADMIN"), "{}", said(1));
        assert_eq!(said(95).kind(), io::ErrorKind::Unsupported);
        assert!(said(95).to_string().contains("takes no contention windows"));
        assert!(said(100).to_string().contains("start hostapd"));
        assert_eq!(said(22).kind(), io::ErrorKind::InvalidInput);
        assert!(said(5).to_string().starts_with("cannot set registers of wlan0: "));
    }

    #[test]
    fn only_access_points_are_set() {
        let found = |kind| Found {
            interface: Interface {
                index: 3,
                name: "wlan0".into(),
                kind,
                radio: 0,
                frequency_mhz: None,
                aggregates: false,
            },
            limits: None,
            others: Vec::new(),
        };
        assert_eq!(found(Kind::AccessPoint).against(), None);
        for kind in [Kind::Station, Kind::AdHoc, Kind::Mesh, Kind::Monitor, Kind::Other(12)] {
            assert!(found(kind).against().is_some_and(|why| why.contains("access points only")), "{kind:?}");
        }
    }
}

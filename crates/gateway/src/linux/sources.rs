//! Source addresses that nothing checks: a host with another subscriber's address uses that
//! subscriber's rate.
//!
//! The gateway cannot distinguish two subscribers behind one device: on a mesh a frame's hardware
//! address is the last router's. So only packets on a wrong device can be dropped, and the kernel does
//! that (`rp_filter`, RFC 3704 §2.2 and §2.3).

use super::Linux;
use crate::Side;
use crate::config::Forwarding;
use evenair_linux::sysctl;

/// `rp_filter`'s strict mode: the route to a source leads through the device that its packets come by
/// (`ip-sysctl.rst`).
const STRICT: u32 = 1;
/// Its loose mode: any device has a route to the source, and a default route covers all.
const LOOSE: u32 = 2;

impl Linux {
    /// Returns a message for each device without strict checks of sources.
    pub fn unchecked_sources(&self) -> Vec<String> {
        if self.forwarding == Forwarding::Bridged {
            return Vec::new();
        }
        let value = |name: &str| sysctl::get(&format!("ipv4/conf/{name}/rp_filter")).ok()?.parse().ok();
        let of = |side| {
            let device = self.device(side);
            unchecked(device, value("all")?, value(device)?)
        };
        Side::ALL.into_iter().filter_map(of).collect()
    }
}

/// Returns the message for a device with its own setting and that of all devices: the greater one
/// counts (`ip-sysctl.rst`).
fn unchecked(device: &str, all: u32, own: u32) -> Option<String> {
    let why = match all.max(own) {
        STRICT => return None,
        LOOSE => "only loosely (rp_filter = 2), which a default route passes",
        _ => "not (rp_filter = 0)",
    };
    let others = if all == LOOSE { "net.ipv4.conf.all.rp_filter=1 " } else { "" };
    Some(format!(
        "{device}: sources of IPv4 are checked {why}, so that packets may come in a subscriber's name: \
        sysctl -w {others}net/ipv4/conf/{device}/rp_filter=1, where no answers take another way"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ip-sysctl.rst`: "The max value from `conf/{all,interface}/rp_filter` is used".
    #[test]
    fn greater_setting_counts() {
        for (all, own) in [(1, 0), (0, 1), (1, 1)] {
            assert_eq!(unchecked("mesh0", all, own), None);
        }
        let said = unchecked("br.lan", 0, 0).unwrap();
        assert!(
            said.contains("not (rp_filter = 0)") && said.contains(" -w net/ipv4/conf/br.lan/rp_filter=1"),
            "{said}"
        );
        for (all, own) in [(2, 1), (2, 0)] {
            let said = unchecked("mesh0", all, own).unwrap();
            assert!(
                said.contains("loosely") && said.contains(" -w net.ipv4.conf.all.rp_filter=1 net/"),
                "{said}"
            );
        }
        assert!(unchecked("mesh0", 1, 2).unwrap().contains(" -w net/ipv4/conf/mesh0"));
    }
}

//! Addresses that a DHCP server gave, from the files in which servers keep them.
//!
//! A lease's id is what its client keeps when its address changes: the hardware address for IPv4 and where the server has one, else the
//! client's identifier (DUID). Leases that have ended are left out where the file says when they end.

use super::Place;
use crate::{Mistake, Prefix};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Who wrote a file of leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeaseFormat {
    /// `dnsmasq.leases`: end, hardware address, address, name, client's identifier; IPv6 after a line `duid`.
    Dnsmasq,
    /// odhcpd's `leasefile` (`/tmp/hosts/odhcpd`): comments `# device duid iaid name end id length address/bits …`, delegated prefixes
    /// among them.
    Odhcpd,
    /// Kea's memfile, `kea-leases4.csv` or `kea-leases6.csv`, delegated prefixes among them (`prefix_len`); the last line of an address
    /// counts.
    Kea,
}

/// A lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// Whose.
    pub id: String,
    /// The name that its client gave.
    pub name: String,
    /// What it was given: an address, or a whole prefix (RFC 8415 §6.3).
    pub prefix: Prefix,
}

/// Reads a file of leases as it stands at a time \[s since 1970\].
///
/// # Errors
/// Names file and line of what is no lease.
pub fn from_leases(format: LeaseFormat, file: &str, text: &str, now_s: u64) -> Result<Vec<Leased>, Mistake> {
    match format {
        LeaseFormat::Dnsmasq => dnsmasq(file, text, now_s),
        LeaseFormat::Odhcpd => odhcpd(file, text, now_s),
        LeaseFormat::Kea => kea(file, text, now_s),
    }
}

/// Names are what clients say of themselves: letters, digits and a few signs are kept.
fn name(given: &str) -> String {
    let is_plain = |c: &char| c.is_alphanumeric() || "-_. ".contains(*c);
    if given == "*" || given == "-" {
        String::new()
    } else {
        given.chars().filter(is_plain).take(64).collect()
    }
}

/// An id of the lease's own kind of number.
fn id(kind: &str, given: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || ":-".contains(*c);
    let plain: String = given.to_ascii_lowercase().chars().filter(is_plain).take(56).collect();
    format!("{kind}-{plain}")
}

/// The id of who has this hardware.
pub(crate) fn hardware_id(address: &str) -> String {
    id("mac", address)
}

fn wrong(file: &str, line: usize, why: &str) -> Mistake {
    Place { file: file.into(), line: Some(line) }.mistake("lease", why.into())
}

fn dnsmasq(file: &str, text: &str, now_s: u64) -> Result<Vec<Leased>, Mistake> {
    let mut leases = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || words[0] == "duid" {
            continue;
        }
        let [end, hardware, address, client, rest @ ..] = &words[..] else {
            return Err(wrong(file, number, "expected end, hardware address, address and name"));
        };
        let end: u64 = end.parse().map_err(|_| wrong(file, number, "the first word is no time"))?;
        let address: IpAddr =
            address.parse().map_err(|_| wrong(file, number, "the third word is no address"))?;
        if end != 0 && end <= now_s {
            continue;
        }
        // Of IPv6 the second word is the number of the client's interface, the last one its identifier.
        let id = match rest.last() {
            Some(duid) if address.is_ipv6() && *duid != "*" => id("duid", duid),
            _ => hardware_id(hardware),
        };
        leases.push(Leased { id, name: name(client), prefix: Prefix::host(address) });
    }
    Ok(leases)
}

fn odhcpd(file: &str, text: &str, now_s: u64) -> Result<Vec<Leased>, Mistake> {
    let mut leases = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        // Lines without the sign repeat the leases for a resolver.
        let Some(line) = line.strip_prefix('#') else { continue };
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, duid, iaid, client, end, _, _, addresses @ ..] = &words[..] else {
            return Err(wrong(
                file,
                number,
                "expected device, duid, iaid, name, end, id, length and addresses",
            ));
        };
        let end: i64 = end.parse().map_err(|_| wrong(file, number, "the fifth word is no time"))?;
        if end >= 0 && end.unsigned_abs() <= now_s {
            continue;
        }
        let kind = if *iaid == "ipv4" { "mac" } else { "duid" };
        for address in addresses {
            let prefix =
                address.parse().map_err(|_| wrong(file, number, "what should be an address is none"))?;
            leases.push(Leased { id: id(kind, duid), name: name(client), prefix });
        }
    }
    Ok(leases)
}

fn kea(file: &str, text: &str, now_s: u64) -> Result<Vec<Leased>, Mistake> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| Mistake::of(file, error.to_string()))?.clone();
    let column = |name: &str| head.iter().position(|column| column == name);
    let (Some(address), Some(end)) = (column("address"), column("expire")) else {
        return Err(Mistake::of(file, "no columns \"address\" and \"expire\", as Kea's memfiles have"));
    };
    let mut leases = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| Mistake::of(file, error.to_string()))?;
        let line = record.position().map_or(1, csv::Position::line) as usize;
        let word = |column: Option<usize>| column.and_then(|column| record.get(column)).unwrap_or_default();
        let address: IpAddr =
            word(Some(address)).parse().map_err(|_| wrong(file, line, "the column \"address\" has none"))?;
        let end: u64 =
            word(Some(end)).parse().map_err(|_| wrong(file, line, "the column \"expire\" has no time"))?;
        // State 0 is a lease that is in use; declined and expired ones have others.
        let is_used = matches!(word(column("state")), "" | "0") && end > now_s;
        let (hardware, duid) = (word(column("hwaddr")), word(column("duid")));
        let id = if hardware.is_empty() { id("duid", duid) } else { hardware_id(hardware) };
        let prefix = match word(column("prefix_len")) {
            "" => Prefix::host(address),
            bits => bits
                .parse()
                .ok()
                .and_then(|bits| Prefix::new(address, bits))
                .ok_or_else(|| wrong(file, line, "the column \"prefix_len\" has no prefix's length"))?,
        };
        let leased = Leased { id, name: name(word(column("hostname"))), prefix };
        leases.insert(prefix, is_used.then_some(leased));
    }
    Ok(leases.into_values().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(format: LeaseFormat, text: &str) -> Vec<(String, String, String)> {
        let leases = from_leases(format, "leases", text, 1_000).unwrap();
        leases.into_iter().map(|lease| (lease.id, lease.name, lease.prefix.to_string())).collect()
    }

    fn lease(id: &str, name: &str, address: &str) -> (String, String, String) {
        (id.into(), name.into(), address.into())
    }

    #[test]
    fn each_servers_own_file_is_read() {
        let dnsmasq = "2000 AA:bb:cc:00:00:01 10.0.0.5 anna-pc 01:aa\n\
            900 aa:bb:cc:00:00:02 10.0.0.6 old *\n\
            0 aa:bb:cc:00:00:03 10.0.0.7 * *\n\
            duid 00:01:02\n\
            2000 77 fd00::5 anna-pc 00:01:02:03\n";
        assert_eq!(
            ids(LeaseFormat::Dnsmasq, dnsmasq),
            [
                lease("mac-aa:bb:cc:00:00:01", "anna-pc", "10.0.0.5"),
                lease("mac-aa:bb:cc:00:00:03", "", "10.0.0.7"),
                lease("duid-00:01:02:03", "anna-pc", "fd00::5"),
            ]
        );
        let odhcpd = "# br-lan 0001000a 1 anna 2000 5 128 fd00::5/128 2001:db8::5/128\n\
            fd00::5\tanna\n\
            # br-lan 0001000b 1 ben 2000 400 56 fd00:0:0:400::/56 2001:db8:0:400::/56\n\
            # br-lan aabbcc000001 ipv4 - -1 5 32 10.0.0.5/32\n";
        assert_eq!(
            ids(LeaseFormat::Odhcpd, odhcpd),
            [
                lease("duid-0001000a", "anna", "fd00::5"),
                lease("duid-0001000a", "anna", "2001:db8::5"),
                lease("duid-0001000b", "ben", "fd00:0:0:400::/56"),
                lease("duid-0001000b", "ben", "2001:db8:0:400::/56"),
                lease("mac-aabbcc000001", "", "10.0.0.5"),
            ]
        );
        let kea = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context\n\
            10.0.0.5,aa:bb:cc:00:00:01,,4000,5000,1,0,0,anna,0,\n\
            10.0.0.6,aa:bb:cc:00:00:02,,4000,5000,1,0,0,ben,0,\n\
            10.0.0.6,aa:bb:cc:00:00:02,,0,0,1,0,0,ben,2,\n";
        assert_eq!(ids(LeaseFormat::Kea, kea), [lease("mac-aa:bb:cc:00:00:01", "anna", "10.0.0.5")]);
        let kea = "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,hwaddr_source,pool_id\n\
            2001:db8::5,00:01:0a,4000,5000,1,3000,0,1,128,0,0,anna,,0,,,,0\n\
            2001:db8:0:400::,00:01:0a,4000,5000,1,3000,2,1,56,0,0,,,0,,,,0\n";
        assert_eq!(
            ids(LeaseFormat::Kea, kea),
            [
                lease("duid-00:01:0a", "anna", "2001:db8::5"),
                lease("duid-00:01:0a", "", "2001:db8:0:400::/56")
            ]
        );
        assert!(from_leases(LeaseFormat::Kea, "k", "address,expire,prefix_len\n::1,5000,129\n", 0).is_err());
    }

    #[test]
    fn what_is_no_lease_is_told_with_its_line() {
        let refused =
            from_leases(LeaseFormat::Dnsmasq, "/var/l", "2000 aa 10.0.0.5 a *\nnonsense\n", 0).unwrap_err();
        assert_eq!(refused.to_string(), "/var/l:2: lease: expected end, hardware address, address and name");
        assert!(from_leases(LeaseFormat::Kea, "k", "one,two\n", 0).is_err());
        assert!(from_leases(LeaseFormat::Odhcpd, "o", "# br-lan x ipv4 a soon 1 2 10.0.0.1\n", 0).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            format in prop::sample::select(vec![LeaseFormat::Dnsmasq, LeaseFormat::Odhcpd, LeaseFormat::Kea]),
            text in "(address|expire|duid|ipv4|[,\n\" #*:./0-9a-f-]){0,80}",
        ) {
            let _ = from_leases(format, "leases", &text, 5);
        }
    }
}

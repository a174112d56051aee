//! Addresses that a DHCP server assigned, from the server's lease files.
//!
//! A lease's id is one that its client keeps when its address changes. It is the hardware address for
//! IPv4 and if the server has one, else the client's identifier (DUID). Expired leases are left out if
//! the file has their end.
//!
//! Clients choose their host names, so a line may hold any text: one that is no lease is left out and
//! reported. Only an incomplete last line means that the server is still writing the file.

use super::Place;
use crate::{Mistake, Prefix};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;

/// The format of a lease file.
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
    /// The subscriber's id.
    pub id: String,
    /// The host name that its client sent.
    pub name: String,
    /// The assigned address, or a whole prefix (RFC 8415 §6.3).
    pub prefix: Prefix,
}

/// The leases of a file, and its invalid lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leases {
    /// The valid leases.
    pub leased: Vec<Leased>,
    /// The first line that is no lease, and the number of such lines.
    pub wrong: Option<(Mistake, usize)>,
}

impl Leases {
    fn add(&mut self, read: Result<Vec<Leased>, Mistake>) {
        match (read, &mut self.wrong) {
            (Ok(leased), _) => self.leased.extend(leased),
            (Err(_), Some((_, count))) => *count += 1,
            (Err(wrong), None) => self.wrong = Some((wrong, 1)),
        }
    }

    /// Returns a message about the invalid lines.
    pub fn trouble(&self) -> Option<Mistake> {
        let (wrong, count) = self.wrong.as_ref()?;
        let others = match count - 1 {
            0 => String::new(),
            others => format!("; so are {others} lines more"),
        };
        Some(Mistake { message: format!("{}: the line is left out{others}", wrong.message), ..wrong.clone() })
    }
}

/// The longest file of leases \[bytes\]: many times the volume that servers append between two
/// clean-ups.
const LEASES_MAX: u64 = 64 << 20;

/// Reads a file that a server's clients can influence: a byte that is not UTF-8 spoils only its own
/// line.
pub(crate) fn read_leases(path: &Path) -> Result<String, Mistake> {
    let wrong = |why: String| Mistake::of(&path.display().to_string(), why);
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LEASES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LEASES_MAX {
        return Err(wrong(format!("is longer than {} MB", LEASES_MAX >> 20)));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a file of leases at a time \[s since 1970\].
///
/// # Errors
/// If it has another format, or ends within a line that is no lease; names file and line.
pub fn from_leases(format: LeaseFormat, file: &str, text: &str, now_s: u64) -> Result<Leases, Mistake> {
    let mut leases = Leases::default();
    let mut lines = (1..).zip(text.split_inclusive('\n'));
    let mut kea = match format {
        LeaseFormat::Kea => Some(Kea::new(file, lines.next().map_or("", |(_, head)| head.trim_end()))?),
        LeaseFormat::Dnsmasq | LeaseFormat::Odhcpd => None,
    };
    for (number, line) in lines {
        let told = |why: &str| wrong(file, number, why);
        let read = match (&mut kea, line.trim_end_matches(['\r', '\n'])) {
            (_, "") => continue,
            (Some(kea), words) => kea.read(words, now_s).map(|()| Vec::new()),
            (None, words) if format == LeaseFormat::Dnsmasq => dnsmasq(words, now_s),
            (None, words) => odhcpd(words, now_s),
        };
        let read = read.map_err(|why| told(&why));
        if read.is_err() && !line.ends_with('\n') {
            return Err(read.expect_err("it was one"));
        }
        leases.add(read);
    }
    leases.leased.extend(kea.into_iter().flat_map(|kea| kea.leases.into_values().flatten()));
    Ok(leases)
}

/// Cleans a client's host name: keeps letters, digits and a few other characters.
fn name(given: &str) -> String {
    let is_plain = |c: &char| c.is_alphanumeric() || "-_. ".contains(*c);
    if given == "*" || given == "-" {
        String::new()
    } else {
        given.chars().filter(is_plain).take(64).collect()
    }
}

/// Returns an id from a kind of identifier and its value.
fn id(kind: &str, given: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || ":-".contains(*c);
    let plain: String = given.to_ascii_lowercase().chars().filter(is_plain).take(56).collect();
    format!("{kind}-{plain}")
}

/// Returns the id of a hardware address.
pub(crate) fn hardware_id(address: &str) -> String {
    id("mac", address)
}

fn wrong(file: &str, line: usize, why: &str) -> Mistake {
    Place { file: file.into(), line: Some(line) }.mistake("lease", why.into())
}

/// Returns the lease of one line; none if it has expired.
fn dnsmasq(line: &str, now_s: u64) -> Result<Vec<Leased>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.is_empty() || words[0] == "duid" {
        return Ok(Vec::new());
    }
    let [end, hardware, address, client, rest @ ..] = &words[..] else {
        return Err("expected end, hardware address, address and name".into());
    };
    let end: u64 = end.parse().map_err(|_| "the first word is no time")?;
    let address: IpAddr = address.parse().map_err(|_| "the third word is no address")?;
    if end != 0 && end <= now_s {
        return Ok(Vec::new());
    }
    // For IPv6 the second word is the number of the client's interface, the last one its identifier.
    let id = match rest.last() {
        Some(duid) if address.is_ipv6() && *duid != "*" => id("duid", duid),
        _ => hardware_id(hardware),
    };
    Ok(vec![Leased { id, name: name(client), prefix: Prefix::host(address) }])
}

/// Returns the leases of one line; none if they have expired.
fn odhcpd(line: &str, now_s: u64) -> Result<Vec<Leased>, String> {
    // Lines without # repeat the leases for a resolver.
    let Some(line) = line.strip_prefix('#') else { return Ok(Vec::new()) };
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, duid, iaid, client, end, _, _, addresses @ ..] = &words[..] else {
        return Err("expected device, duid, iaid, name, end, id, length and addresses".into());
    };
    let end: i64 = end.parse().map_err(|_| "the fifth word is no time")?;
    if end >= 0 && end.unsigned_abs() <= now_s {
        return Ok(Vec::new());
    }
    let kind = if *iaid == "ipv4" { "mac" } else { "duid" };
    let leased = addresses.iter().map(|address| {
        let prefix = address.parse().map_err(|_| "not an address")?;
        Ok(Leased { id: id(kind, duid), name: name(client), prefix })
    });
    leased.collect()
}

/// A Kea memfile: values between commas, without quotes; a comma within a value is `&#x2c`
/// (`CSVRow::escapeCharacters`).
struct Kea {
    columns: BTreeMap<String, usize>,
    /// The leases by prefix: the last line counts; `None` if that lease has expired.
    leases: BTreeMap<Prefix, Option<Leased>>,
}

impl Kea {
    fn new(file: &str, head: &str) -> Result<Self, Mistake> {
        let columns: BTreeMap<String, usize> = head.split(',').map(String::from).zip(0..).collect();
        if !columns.contains_key("address") || !columns.contains_key("expire") {
            return Err(Mistake::of(file, "no columns \"address\" and \"expire\", as Kea's memfiles have"));
        }
        Ok(Self { columns, leases: BTreeMap::new() })
    }

    fn read(&mut self, line: &str, now_s: u64) -> Result<(), String> {
        let words: Vec<&str> = line.split(',').collect();
        let word = |name: &str| self.columns.get(name).and_then(|column| words.get(*column)).copied();
        let word = |name| word(name).unwrap_or_default();
        let address: IpAddr = word("address").parse().map_err(|_| "the column \"address\" has none")?;
        let end: u64 = word("expire").parse().map_err(|_| "the column \"expire\" has no time")?;
        // State 0 is a lease that is in use; declined and expired ones have others.
        let is_used = matches!(word("state"), "" | "0") && end > now_s;
        let (hardware, duid) = (word("hwaddr"), word("duid"));
        let id = if hardware.is_empty() { id("duid", duid) } else { hardware_id(hardware) };
        let prefix = match word("prefix_len") {
            "" => Prefix::host(address),
            bits => bits
                .parse()
                .ok()
                .and_then(|bits| Prefix::new(address, bits))
                .ok_or("the column \"prefix_len\" has no prefix's length")?,
        };
        let leased = Leased { id, name: name(&word("hostname").replace("&#x2c", ",")), prefix };
        self.leases.insert(prefix, is_used.then_some(leased));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(format: LeaseFormat, text: &str) -> Vec<(String, String, String)> {
        let leases = from_leases(format, "leases", text, 1_000).unwrap();
        assert_eq!(leases.trouble(), None);
        leases.leased.into_iter().map(|lease| (lease.id, lease.name, lease.prefix.to_string())).collect()
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
    }

    #[test]
    fn bad_line_costs_that_line_and_is_reported() {
        // A client with the host name `"mallory`, one with a comma in Kea's form, and lines that are no
        // leases.
        let head = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context,pool_id\n";
        let kea = format!(
            "{head}10.0.0.11,02:00:00:00:00:01,,4000,4102444800,1,0,0,\"mallory,0,,0\n\
            10.0.0.12,02:00:00:00:00:02,,4000,4102444800,1,0,0,an&#x2cna,0,,0\n\
            nonsense\n10.0.0.14,02:00:00:00:00:04,,4000,soon,1,0,0,carl,0,,0\n\n\
            10.0.0.13,02:00:00:00:00:03,,4000,4102444800,1,0,0,bert,0,,0\n"
        );
        let read = from_leases(LeaseFormat::Kea, "k", &kea, 0).unwrap();
        let names = read.leased.iter().map(|lease| (lease.name.as_str(), lease.prefix.to_string()));
        let wanted = [("mallory", "10.0.0.11"), ("anna", "10.0.0.12"), ("bert", "10.0.0.13")];
        assert_eq!(names.collect::<Vec<_>>(), wanted.map(|(name, address)| (name, address.to_string())));
        let why = "k:4: lease: the column \"address\" has none: the line is left out; so are 1 lines more";
        assert_eq!(read.trouble().unwrap().to_string(), why);
        for (format, text) in [
            (LeaseFormat::Dnsmasq, "nonsense\n0 aa 10.0.0.5 a *\n2000 aa x a *\n"),
            (
                LeaseFormat::Odhcpd,
                "# br-lan x ipv4 a soon 1 2 10.0.0.1\n# br-lan x ipv4 a -1 1 2 10.0.0.5\n# x\n",
            ),
        ] {
            let read = from_leases(format, "l", text, 0).unwrap();
            assert_eq!(
                read.leased.iter().map(|lease| lease.prefix.to_string()).collect::<Vec<_>>(),
                ["10.0.0.5"]
            );
            assert_eq!(read.wrong.as_ref().map(|(wrong, count)| (wrong.line, *count)), Some((Some(1), 2)));
        }
    }

    /// A server may be writing the file: then it is read again later.
    #[test]
    fn file_that_ends_within_a_line_is_refused() {
        let refused =
            from_leases(LeaseFormat::Dnsmasq, "/var/l", "2000 aa 10.0.0.5 a *\n2000 aa 10.", 0).unwrap_err();
        assert_eq!(refused.to_string(), "/var/l:2: lease: expected end, hardware address, address and name");
        assert!(from_leases(LeaseFormat::Kea, "k", "address,expire,prefix_len\n::1,5000,129", 0).is_err());
        assert!(from_leases(LeaseFormat::Kea, "k", "one,two\n", 0).is_err());
        assert!(from_leases(LeaseFormat::Odhcpd, "o", "# br-lan x ipv4 a soon 1 2 10.0.0.1", 0).is_err());
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

//! A device's features that combine packets into large segments and cut them (ethtool(8)): read, set,
//! restored.
//!
//! A segment of many packets passes a queueing discipline whole: 64 kB block a class of 400 kb/s for 1.3 s. A
//! receiving gateway combines packets by `rx-gro` and similar features. The machine's own segments are cut by
//! the device or before it, behind the queue.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The features, by the kernel's names, that create or keep large segments.
const LARGE: [&str; 11] = [
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-lro",
    "rx-udp-gro-forwarding",
    "tx-generic-segmentation",
    "tx-tcp-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp6-segmentation",
    "tx-udp-segmentation",
];

/// The feature by which a device executes filters of tc(8) and flowtables itself.
const TAKES_FLOWS: &str = "hw-tc-offload";

/// The requested features of a device, of those that create large segments and can be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offloads {
    features: Vec<(&'static str, bool)>,
}

impl Offloads {
    /// Reads the requested features of a device of the calling thread's namespace.
    ///
    /// # Errors
    /// If there is none of this name, or it has no features.
    pub fn read(device: &str) -> io::Result<Self> {
        let ethtool = Ethtool::new(device)?;
        let (places, words) = (ethtool.places(&LARGE)?, ethtool.features()?);
        let features = places
            .into_iter()
            .filter(|(_, place)| words.bit(*place, Words::CAN_CHANGE))
            .map(|(name, place)| (name, words.bit(place, Words::REQUESTED)))
            .collect();
        Ok(Self { features })
    }

    /// Returns the features, by the kernel's names, and whether each is on.
    pub fn features(&self) -> &[(&'static str, bool)] {
        &self.features
    }

    /// Returns the features with all large segments disabled.
    pub fn bounded(&self) -> Self {
        Self { features: self.features.iter().map(|(name, _)| (*name, false)).collect() }
    }

    /// Returns the features with some replaced, such as by earlier values: those for which `is_on` has a
    /// value.
    pub fn changed(&self, is_on: impl Fn(&str) -> Option<bool>) -> Self {
        let of = |&(name, before): &(&'static str, bool)| (name, is_on(name).unwrap_or(before));
        Self { features: self.features.iter().map(of).collect() }
    }

    /// Sets these features on a device, and no others.
    ///
    /// # Errors
    /// If there is none of this name, or the process lacks `CAP_NET_ADMIN`.
    pub fn set(&self, device: &str) -> io::Result<()> {
        let ethtool = Ethtool::new(device)?;
        let (places, words) = (ethtool.places(&LARGE)?, ethtool.features()?);
        let wanted = self.features.iter().filter_map(|(name, is_on)| {
            let (_, place) = places.iter().find(|(own, _)| own == name)?;
            (*place / 32 < words.count() as usize).then_some((*place, *is_on))
        });
        // `struct ethtool_sfeatures`: for each word, the bits to set, and their values.
        let mut request = vec![SET_FEATURES, words.count()];
        request.resize(2 + 2 * words.count() as usize, 0);
        for (place, is_on) in wanted {
            request[2 + place / 32 * 2] |= 1 << (place % 32);
            request[3 + place / 32 * 2] |= u32::from(is_on) << (place % 32);
        }
        ethtool.ask(&mut request)
    }
}

/// Returns whether the device itself may execute flows (`hw-tc-offload`), which then bypass the kernel.
///
/// # Errors
/// If there is none of this name, or it has no features.
pub fn takes_flows(device: &str) -> io::Result<bool> {
    let ethtool = Ethtool::new(device)?;
    let (places, words) = (ethtool.places(&[TAKES_FLOWS])?, ethtool.features()?);
    Ok(places.iter().any(|(_, place)| words.bit(*place, Words::ACTIVE)))
}

/// `ETHTOOL_GSTRINGS`, `ETHTOOL_GSSET_INFO`, `ETHTOOL_GFEATURES`, `ETHTOOL_SFEATURES`, and `ETH_SS_FEATURES`.
const GET_STRINGS: u32 = 0x1b;
const GET_COUNTS: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const NAMES: u32 = 4;
/// The words of a name, 32 bytes of text (`ETH_GSTRING_LEN`).
const NAME: usize = 8;
/// The most names, and words of features: more than any kernel has.
const NAMES_MAX: u32 = 1_024;
const WORDS_MAX: u32 = NAMES_MAX / 32;

/// Linux' `SIOCETHTOOL`.
const REQUEST: libc::Ioctl = 0x8946;

/// A device, and a socket for requests about it.
struct Ethtool {
    socket: OwnedFd,
    request: libc::ifreq,
}

/// The answer to [`GET_FEATURES`], four words for each 32 features.
struct Words(Vec<u32>);

impl Words {
    const REQUESTED: usize = 1;
    const ACTIVE: usize = 2;
    /// The word of available features, and that of the changeable ones.
    const CAN_CHANGE: usize = 0;
    const NEVER_CHANGED: usize = 3;

    fn count(&self) -> u32 {
        self.0[1].min(WORDS_MAX)
    }

    fn bit(&self, place: usize, what: usize) -> bool {
        let of = |what| self.0[2 + place / 32 * 4 + what] & (1 << (place % 32)) != 0;
        of(what) && (what != Self::CAN_CHANGE || !of(Self::NEVER_CHANGED))
    }
}

impl Ethtool {
    fn new(device: &str) -> io::Result<Self> {
        // A socket of any family passes the request on; this one's sends nothing to another machine.
        let generic = Some(rustix::net::netlink::GENERIC);
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, generic)?;
        // SAFETY: zero is a value of the name and of all other members that the structure may have.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if device.is_empty() || device.len() >= request.ifr_name.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a device's name has 1 to 15 bytes"));
        }
        for (place, byte) in request.ifr_name.iter_mut().zip(device.bytes()) {
            *place = libc::c_char::from_ne_bytes([byte]);
        }
        Ok(Self { socket, request })
    }

    /// Returns the wanted features with their numbers on this kernel.
    fn places(&self, meant: &[&'static str]) -> io::Result<Vec<(&'static str, usize)>> {
        // `struct ethtool_sset_info`: the mask of requested sets, and the count of each.
        let mut counts = [GET_COUNTS, 0, 0, 0, 0];
        counts[2..4].copy_from_slice(&[1 << NAMES, 0]);
        if cfg!(target_endian = "big") {
            counts.swap(2, 3);
        }
        self.ask(&mut counts)?;
        // The kernel writes all its names, without regard to the room given.
        if counts[4] > NAMES_MAX {
            return Err(io::Error::other("the kernel has more features than there is room for"));
        }
        let count = counts[4] as usize;
        let mut strings = vec![0; 3 + NAME * NAMES_MAX as usize];
        strings[..3].copy_from_slice(&[GET_STRINGS, NAMES, count as u32]);
        self.ask(&mut strings)?;
        let names = strings[3..].chunks(NAME).take(count).map(|words| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0).collect()
        });
        let meant = |name: &[u8]| meant.iter().copied().find(|own| own.as_bytes() == name);
        Ok(names.enumerate().filter_map(|(place, name)| Some((meant(&name)?, place))).collect())
    }

    fn features(&self) -> io::Result<Words> {
        let mut words = vec![0; 2 + 4 * WORDS_MAX as usize];
        words[..2].copy_from_slice(&[GET_FEATURES, WORDS_MAX]);
        self.ask(&mut words)?;
        Ok(Words(words))
    }

    /// Makes a request; the answer replaces it in the buffer.
    fn ask(&self, words: &mut [u32]) -> io::Result<()> {
        let mut request = self.request;
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        let socket = self.socket.as_raw_fd();
        // SAFETY: the kernel reads one `struct ifreq`, and reads and writes no more words than the buffer
        // has. Each command has a length of its own, or states one that was counted above.
        match unsafe { libc::ioctl(socket, REQUEST, &raw mut request) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

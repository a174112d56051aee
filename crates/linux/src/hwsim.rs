//! The medium behind simulated radios (`drivers/net/wireless/mac80211_hwsim.h`): a program takes the frames that they send,
//! and decides which radios receive them. For the guest tests of evenair-access: no command uses
//! it.

use crate::netlink::attributes::{bytes_at, u32_of, u64_of};
use crate::netlink::generic::{Family, attributes};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// `HWSIM_CMD_REGISTER`, `HWSIM_CMD_FRAME` and `HWSIM_CMD_TX_INFO_FRAME`.
const REGISTER: u8 = 1;
const FRAME: u8 = 2;
const TRANSMITTED: u8 = 3;
/// `HWSIM_ATTR_ADDR_RECEIVER`, `ADDR_TRANSMITTER`, `FRAME`, `FLAGS`, `RX_RATE`, `SIGNAL`, `TX_INFO`, `COOKIE` and `FREQ`.
const RECEIVER: u16 = 1;
const TRANSMITTER: u16 = 2;
const BYTES: u16 = 3;
const FLAGS: u16 = 4;
const RATE: u16 = 5;
const SIGNAL: u16 = 6;
const TRIES: u16 = 7;
const COOKIE: u16 = 8;
const FREQUENCY: u16 = 19;
/// `HWSIM_TX_STAT_ACK`.
const ACKNOWLEDGED: u32 = 4;
/// The signal of each frame \[dBm\].
const SIGNAL_DBM: i32 = -50;
/// Room for frames that wait for the program \[bytes\].
const BUFFER: usize = 8 << 20;

/// `NL80211_CMD_CONNECT`; `NL80211_ATTR_IFINDEX`, `WIPHY_FREQ`, `SSID` and `DISABLE_HT`.
const CONNECT: u8 = 46;
const INDEX: u16 = 3;
const WIPHY_FREQUENCY: u16 = 38;
const NETWORK: u16 = 52;
const WITHOUT_HT: u16 = 147;

/// Lets a client join an open network as a device from before 802.11n.
///
/// # Errors
/// If the interface is no client that is up.
pub fn join_without_80211n(index: u32, network: &str, frequency_mhz: u32) -> io::Result<()> {
    let mut family = Family::new("nl80211")?;
    let mut request = family.request(CONNECT);
    request.put_u32(INDEX, index).put(NETWORK, network.as_bytes());
    request.put_u32(WIPHY_FREQUENCY, frequency_mhz).put(WITHOUT_HT, &[]);
    family.socket.ask(request)
}

/// The address of a radio.
pub type Address = [u8; 6];

/// A frame that a radio sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The radio that sends it.
    pub transmitter: Address,
    /// The frame from its header on, without its check sum.
    pub bytes: Vec<u8>,
    flags: u32,
    frequency_mhz: u32,
    cookie: u64,
    /// Four pairs of a rate and a number of tries.
    tries: [u8; 8],
}

impl Frame {
    fn read(payload: &[u8]) -> Option<Self> {
        let attributes = attributes(payload).ok()?;
        if payload.first() != Some(&FRAME) {
            return None;
        }
        Some(Self {
            transmitter: bytes_at(attributes.find(TRANSMITTER)?, 0)?,
            bytes: attributes.find(BYTES)?.to_vec(),
            flags: attributes.find(FLAGS).and_then(u32_of).unwrap_or_default(),
            frequency_mhz: attributes.find(FREQUENCY).and_then(u32_of).unwrap_or_default(),
            cookie: attributes.find(COOKIE).and_then(u64_of)?,
            tries: attributes.find(TRIES).and_then(|value| bytes_at(value, 0)).unwrap_or_default(),
        })
    }
}

/// The program's end.
#[derive(Debug)]
pub struct Hwsim {
    family: Family,
}

impl Hwsim {
    /// Takes all frames of this network namespace's radios from here on.
    ///
    /// # Errors
    /// If `mac80211_hwsim` is not loaded, or another program has them.
    pub fn new() -> io::Result<Self> {
        let mut family = Family::new("MAC80211_HWSIM")?;
        family.socket.buffer(BUFFER)?;
        let request = family.request(REGISTER);
        family.socket.ask(request)?;
        Ok(Self { family })
    }

    /// Returns the frames that have come; does not wait.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn frames(&mut self) -> io::Result<Vec<Frame>> {
        let (number, mut all) = (self.family.number(), Vec::new());
        self.family.socket.take(|kind, payload| {
            all.extend((kind == number).then(|| Frame::read(payload)).flatten());
        })?;
        Ok(all)
    }

    /// Lets a radio receive a frame. One on another channel does not.
    ///
    /// # Errors
    /// If the socket is closed.
    pub fn deliver(&mut self, frame: &Frame, receiver: Address) -> io::Result<()> {
        let mut request = self.family.request(FRAME);
        request.put(RECEIVER, &receiver).put(BYTES, &frame.bytes).put_u32(RATE, 0);
        request.put_u32(SIGNAL, SIGNAL_DBM.cast_unsigned()).put_u32(FREQUENCY, frame.frequency_mhz);
        self.family.socket.tell(request)
    }

    /// Tells the radio that its frame is sent.
    ///
    /// # Errors
    /// If the socket is closed.
    pub fn finish(&mut self, frame: &Frame, is_acknowledged: bool) -> io::Result<()> {
        let flags = frame.flags | if is_acknowledged { ACKNOWLEDGED } else { 0 };
        let mut tries = frame.tries;
        // One try at the first rate; -1 ends the list.
        (tries[1], tries[2]) = (1, u8::MAX);
        let mut request = self.family.request(TRANSMITTED);
        request.put(TRANSMITTER, &frame.transmitter).put_u32(FLAGS, flags);
        request.put_u32(SIGNAL, SIGNAL_DBM.cast_unsigned()).put(TRIES, &tries);
        request.put(COOKIE, &frame.cookie.to_ne_bytes());
        self.family.socket.tell(request)
    }
}

impl AsFd for Hwsim {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.family.socket.as_fd()
    }
}

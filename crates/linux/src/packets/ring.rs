//! A packet socket with its packets in memory shared with the kernel (`TPACKET_V3`, packet(7) and the
//! kernel's `packet_mmap.rst`).

use crate::netlink::attributes::{bytes_at, u16_at, u32_at};
use crate::socket_option;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Blocks of the ring, and bytes of each: 4 MB, some 20 000 packets.
pub(super) const BLOCKS: usize = 32;
const BLOCK: usize = 128 * 1024;
/// Bytes of each packet that are copied: the headers of IPv6, its usual extensions, and TCP.
const SNAP: u32 = 128;
/// A block that is not full is handed over after this time \[ms\].
const RETIRE_MS: u32 = 10;
/// The least room of a frame \[bytes\]: unused in this version, but checked by the kernel.
const FRAME: u32 = 256;

/// Offsets in `struct tpacket_block_desc`, with its second part at 8.
mod block {
    use libc::tpacket_hdr_v1 as Header;
    use std::mem::offset_of;

    pub(super) const STATUS: usize = 8 + offset_of!(Header, block_status);
    pub(super) const PACKETS: usize = 8 + offset_of!(Header, num_pkts);
    pub(super) const FIRST: usize = 8 + offset_of!(Header, offset_to_first_pkt);
}

/// Offsets in `struct tpacket3_hdr` and in the `struct sockaddr_ll` behind it.
mod frame {
    use libc::{sockaddr_ll as Address, tpacket3_hdr as Header};
    use std::mem::offset_of;

    pub(super) const NEXT: usize = offset_of!(Header, tp_next_offset);
    pub(super) const SECONDS: usize = offset_of!(Header, tp_sec);
    pub(super) const NANOSECONDS: usize = offset_of!(Header, tp_nsec);
    pub(super) const SNAPPED: usize = offset_of!(Header, tp_snaplen);
    pub(super) const LENGTH: usize = offset_of!(Header, tp_len);
    pub(super) const STATUS: usize = offset_of!(Header, tp_status);
    pub(super) const NETWORK: usize = offset_of!(Header, tp_net);
    pub(super) const TAG: usize =
        offset_of!(Header, hv1) + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tci);
    const ADDRESS: usize = size_of::<Header>().next_multiple_of(libc::TPACKET_ALIGNMENT);
    pub(super) const ETHERTYPE: usize = ADDRESS + offset_of!(Address, sll_protocol);
    pub(super) const WAY: usize = ADDRESS + offset_of!(Address, sll_pkttype);
}

/// A packet in the ring.
pub(crate) struct Frame<'a> {
    pub(crate) ethertype: u16,
    pub(crate) is_outgoing: bool,
    /// The time of capture, by the adjustable clock, since 1970 \[ns\].
    pub(crate) stamp_ns: u64,
    pub(crate) vlan: Option<u16>,
    /// From the network layer's header on.
    pub(crate) bytes: &'a [u8],
    /// The length of the packet, which begins with `bytes`.
    pub(crate) length: u32,
}

#[derive(Debug)]
pub(super) struct Ring {
    descriptor: OwnedFd,
    memory: NonNull<u8>,
    /// The next block to be handed over.
    next: usize,
}

// SAFETY: the ring owns the memory, which moves with it.
unsafe impl Send for Ring {}

impl Ring {
    pub(super) fn new(device: u32) -> io::Result<Self> {
        // Without a protocol it receives nothing yet. Packets start at the network layer: devices without a
        // link layer are alike.
        let (kind, flags) = (SocketType::DGRAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK);
        let descriptor = socket_with(AddressFamily::PACKET, kind, flags, None)?;
        socket_option::set(
            &descriptor,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            libc::tpacket_versions::TPACKET_V3 as u32,
        )?;
        filter(&descriptor)?;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME,
            tp_frame_nr: (BLOCKS * BLOCK) as u32 / FRAME,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket_option::set_value(&descriptor, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let (length, access) = (BLOCKS * BLOCK, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: the kernel chooses the address, and the length is that of the ring that it has just
        // created.
        let memory = unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, &descriptor, 0) }?;
        let memory = NonNull::new(memory.cast()).ok_or(Errno::NOMEM)?;
        let ring = Self { descriptor, memory, next: 0 };
        bind(&ring.descriptor, device)?;
        Ok(ring)
    }

    /// Receives the packets of this device from now on.
    pub(super) fn follow(&self, device: u32) -> io::Result<()> {
        // An earlier error of the device before does not apply to this one.
        let _ = self.failure();
        bind(&self.descriptor, device)
    }

    /// Reads the next block, if the kernel has handed it over, and returns it.
    pub(super) fn read_block(&mut self, each: impl FnMut(Frame<'_>)) -> bool {
        // SAFETY: the ring has `BLOCKS` blocks, and this is one of them.
        let start = unsafe { self.memory.add(self.next * BLOCK) };
        // SAFETY: the address is aligned and in the mapping, and both sides change it by whole words only.
        let status = unsafe { start.add(block::STATUS).cast::<AtomicU32>().as_ref() };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the kernel leaves a block alone from handing it over until it is returned, below; `each`
        // cannot keep it.
        let bytes = unsafe { std::slice::from_raw_parts(start.as_ptr().cast_const(), BLOCK) };
        frames(bytes).for_each(each);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % BLOCKS;
        true
    }

    /// Returns the packets lost for lack of room since the last call.
    pub(super) fn new_drops(&self) -> io::Result<u32> {
        // `struct tpacket_stats_v3`: packets, drops, and the number of times at which the ring was full.
        let counts: [u32; 3] =
            socket_option::value(&self.descriptor, libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        Ok(counts[1])
    }

    /// Returns the socket's error since the last call.
    pub(super) fn failure(&self) -> io::Result<()> {
        sockopt::socket_error(&self.descriptor)?.map_err(Into::into)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing borrows it any more.
        let _ = unsafe { munmap(self.memory.as_ptr().cast::<c_void>(), BLOCKS * BLOCK) };
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Iterates over the packets in a block. The kernel's offsets are used only within the block.
pub(crate) fn frames(bytes: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    let count = u32_at(bytes, block::PACKETS).unwrap_or_default();
    let mut at = u32_at(bytes, block::FIRST).unwrap_or_default() as usize;
    (0..count).map_while(move |_| {
        let own = bytes.get(at..)?;
        // A packet without a next one is the last, with any count.
        let next = u32_at(own, frame::NEXT)? as usize;
        at = if next == 0 { usize::MAX } else { at.checked_add(next)? };
        let begin = usize::from(u16_at(own, frame::NETWORK)?);
        let end = begin.checked_add(u32_at(own, frame::SNAPPED)? as usize)?;
        let is_tagged = u32_at(own, frame::STATUS)? & libc::TP_STATUS_VLAN_VALID != 0;
        let seconds = u64::from(u32_at(own, frame::SECONDS)?);
        Some(Frame {
            ethertype: bytes_at(own, frame::ETHERTYPE).map(u16::from_be_bytes)?,
            is_outgoing: *own.get(frame::WAY)? == libc::PACKET_OUTGOING,
            stamp_ns: seconds * 1_000_000_000 + u64::from(u32_at(own, frame::NANOSECONDS)?),
            vlan: is_tagged.then(|| u32_at(own, frame::TAG)).flatten().map(|tag| tag as u16 & 0xfff),
            bytes: own.get(begin..end)?,
            length: u32_at(own, frame::LENGTH)?,
        })
    })
}

/// Installs a filter that passes IP packets, with or without a tag, and the first bytes of each
/// (`linux/filter.h`).
fn filter(descriptor: &OwnedFd) -> io::Result<()> {
    const LOAD_HALF: u16 = 0x28; // BPF_LD | BPF_H | BPF_ABS
    const IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const ETHERTYPE: u32 = (-0x1000_i32).cast_unsigned(); // SKF_AD_OFF + SKF_AD_PROTOCOL
    let step = |code, jt, k| libc::sock_filter { code, jt, jf: 0, k };
    let mut program = [
        step(LOAD_HALF, 0, ETHERTYPE),
        step(IF_EQUAL, 4, libc::ETH_P_IP as u32),
        step(IF_EQUAL, 3, libc::ETH_P_IPV6 as u32),
        step(IF_EQUAL, 2, libc::ETH_P_8021Q as u32),
        step(IF_EQUAL, 1, libc::ETH_P_8021AD as u32),
        step(RETURN, 0, 0),
        step(RETURN, 0, SNAP),
    ];
    let text = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    socket_option::set_value(descriptor, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &text)
}

/// Binds the socket, which then receives all that passes the device.
fn bind(descriptor: &OwnedFd, device: u32) -> io::Result<()> {
    // SAFETY: zero is a value of each of the numbers that the structure has.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = device.cast_signed();
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads one structure of this length.
    match unsafe { libc::bind(descriptor.as_raw_fd(), (&raw const address).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_without_a_next_one_is_the_last() {
        let mut block = [0; 200];
        block[block::PACKETS..block::PACKETS + 4].fill(0xff);
        block[block::FIRST] = 48;
        assert_eq!(frames(&block).count(), 1);
    }

    proptest! {
        /// Offsets in a block are not followed beyond its end.
        #[test]
        fn nothing_panics(mut block in prop::collection::vec(any::<u8>(), 0..600), count in 0..9_u32, first in 0..600_u32) {
            let _ = frames(&block).count();
            if block.len() >= 48 {
                block[block::PACKETS..block::PACKETS + 4].copy_from_slice(&count.to_ne_bytes());
                block[block::FIRST..block::FIRST + 4].copy_from_slice(&first.to_ne_bytes());
            }
            prop_assert!(frames(&block).count() <= count as usize);
        }
    }
}

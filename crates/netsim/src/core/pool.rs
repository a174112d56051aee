//! The packets that are in the network, at places that are used again.

use super::END;
use crate::packet::Packet;
use evenair_des::ahead::fetch;
use evenair_wifi::PacketId;

/// Marks a place that is free, where assertions are on.
const VACANT: u32 = END - 1;

/// All packets under way. Queues and the air know them by their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    places: Vec<Packet>,
    free: Vec<u32>,
}

impl Pool {
    /// Takes a packet in.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        debug_assert!(packet.hop != VACANT, "a packet without a way");
        if let Some(place) = self.free.pop() {
            debug_assert_eq!(self.places[place as usize].hop, VACANT, "a place is given away twice");
            self.places[place as usize] = packet;
            PacketId(place)
        } else {
            self.places.push(packet);
            PacketId(self.places.len() as u32 - 1)
        }
    }

    /// A packet that is under way.
    #[inline]
    pub(crate) fn get(&self, id: PacketId) -> &Packet {
        let packet = &self.places[id.0 as usize];
        debug_assert_ne!(packet.hop, VACANT, "packet {} has left the network", id.0);
        packet
    }

    /// Fetches a packet into the cache, if it is still under way.
    #[inline]
    pub(crate) fn fetch(&self, id: PacketId) {
        self.places.get(id.0 as usize).into_iter().for_each(fetch);
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        let packet = &mut self.places[id.0 as usize];
        debug_assert_ne!(packet.hop, VACANT, "packet {} has left the network", id.0);
        packet
    }

    /// A packet leaves the network.
    #[inline]
    pub(crate) fn take(&mut self, id: PacketId) -> Packet {
        let packet = *self.get(id);
        self.remove(id);
        packet
    }

    /// The same where its content is no longer needed.
    #[inline]
    pub(crate) fn remove(&mut self, id: PacketId) {
        if cfg!(debug_assertions) {
            debug_assert_ne!(self.places[id.0 as usize].hop, VACANT, "packet {} has left the network", id.0);
            self.places[id.0 as usize].hop = VACANT;
        }
        self.free.push(id.0);
    }

    /// How many packets are under way.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

//! State of queues with frames that end soon, fetched into the cache before that, where the air tells of them.

use super::Core;
use crate::packet::Way;
use crate::queue::Service;
use evenair_des::ahead::fetch;

/// Ways that the attachments are told of at most: where no news comes, since all frames fail, they are not taken.
const SOON_MAX: usize = 64;

impl<T: Copy> Core<T> {
    /// Fetches the state for the end of a frame, if the air tells of one; tells whether it does.
    #[inline]
    pub(super) fn fetch_ahead(&mut self) -> bool {
        let Some(by) = self.air.take_upcoming() else { return false };
        self.fetch_in_stages(by);
        true
    }

    /// The queue of this frame; hop, packets and flow of the frame before; the next packet of the one before that.
    #[inline(never)]
    fn fetch_in_stages(&mut self, by: u32) {
        let [last, first] = self.upcoming;
        self.upcoming = [by, last];
        self.queues[by as usize].fetch();
        let queue = &self.queues[last as usize];
        if let Service::Packet(served, hop) = queue.service {
            self.pool.fetch(served.packet);
            fetch(self.hops.get(hop));
            fetch(self.passage(Way(served.flow)));
            if self.soon.len() < SOON_MAX {
                self.soon.push(Way(served.flow));
            }
        }
        let queue = &self.queues[last as usize];
        queue.first_waiting().into_iter().for_each(fetch);
        queue.without_room.front().into_iter().for_each(fetch);
        if let Some(waiting) = self.queues[first as usize].first_waiting() {
            self.pool.fetch(waiting.packet);
        }
    }
}

//! Sizes that a source draws from.

use evenair_des::Stream;
use evenair_units::Bytes;

/// Sizes of datagrams, each as likely as any other; a size that is there twice is twice as likely.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    /// No datagram is longer than 60000 bytes.
    bytes: [u16; Self::MOST],
    count: u8,
}

impl Mix {
    /// The most sizes.
    pub const MOST: usize = 16;

    /// The mix of these sizes; none, if there is none, one is of zero or more than 65535 bytes, or there are more than
    /// [`Self::MOST`].
    pub fn new(sizes: &[Bytes]) -> Option<Self> {
        let mut bytes = [0; Self::MOST];
        if sizes.is_empty() || sizes.len() > Self::MOST {
            return None;
        }
        for (place, size) in bytes.iter_mut().zip(sizes) {
            *place = u16::try_from(size.count()).ok().filter(|&bytes| bytes > 0)?;
        }
        Some(Self { bytes, count: sizes.len() as u8 })
    }

    /// The sizes.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.bytes[..usize::from(self.count)].iter().map(|&bytes| Bytes::new(bytes.into()))
    }

    /// The mean size \[bytes\], rounded.
    pub fn mean(&self) -> Bytes {
        let (sum, count) = (self.sizes().map(Bytes::count).sum::<u32>(), u32::from(self.count));
        Bytes::new((sum + count / 2) / count)
    }

    /// The largest size.
    pub fn largest(&self) -> Bytes {
        self.sizes().max().unwrap_or_default()
    }

    /// The smallest size.
    pub fn smallest(&self) -> Bytes {
        self.sizes().min().unwrap_or_default()
    }

    /// Draws one; a mix of one size draws nothing.
    pub(crate) fn draw(&self, stream: &mut Stream) -> Bytes {
        let place = if self.count == 1 { 0 } else { stream.up_to(u32::from(self.count) - 1) };
        Bytes::new(self.bytes[place as usize].into())
    }
}

impl std::fmt::Debug for Mix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.sizes()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(sizes: &[u32]) -> Option<Mix> {
        Mix::new(&sizes.iter().map(|&bytes| Bytes::new(bytes)).collect::<Vec<_>>())
    }

    #[test]
    fn a_mix_has_its_sizes_and_no_others() {
        let three = mix(&[64, 576, 1500]).unwrap();
        // 2140/3 = 713.3
        assert_eq!((three.mean(), three.largest()), (Bytes::new(713), Bytes::new(1500)));
        assert_eq!([mix(&[]), mix(&[0]), mix(&[70_000]), mix(&[100; 17])], [None; 4]);
    }

    /// 40 000 draws of one in four: 10 000 ± 87 (one standard deviation, √(n·p·(1 − p))); five of them are allowed.
    #[test]
    fn sizes_are_drawn_as_often_as_they_are_there() {
        let (mix, mut stream) = (mix(&[64, 64, 64, 1500]).unwrap(), Stream::named(1, "mix", "test"));
        let large = (0..40_000).filter(|_| mix.draw(&mut stream) == Bytes::new(1500)).count();
        assert!(large.abs_diff(10_000) < 5 * 87, "{large}");
    }
}

//! Pairs as they are written: two values and not three, of which the third would be lost without a word.

use super::Listed;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Reads pairs, however deep they stand in lists, and refuses a third value.
///
/// # Errors
/// As the deserialiser's; and if there are more.
pub fn exactly<'de, D: Deserializer<'de>, P: Exactly<'de>>(deserializer: D) -> Result<P, D::Error> {
    P::exactly(deserializer)
}

/// A value with pairs in it.
pub trait Exactly<'de>: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// As [`exactly`].
    fn exactly<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl<'de, T: Deserialize<'de>> Exactly<'de> for [T; 2] {
    fn exactly<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Two<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Two<T> {
            type Value = [T; 2];
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("two values")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<[T; 2], A::Error> {
                let mut next =
                    |place| all.next_element()?.ok_or_else(|| A::Error::invalid_length(place, &"two values"));
                let pair = [next(0)?, next(1)?];
                let mut count = 2;
                while all.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                if count == 2 { Ok(pair) } else { Err(A::Error::invalid_length(count, &"two values")) }
            }
        }
        deserializer.deserialize_seq(Two(PhantomData))
    }
}

/// A value that is read so wherever it stands.
struct Read<P>(P);

impl<'de, P: Exactly<'de>> Deserialize<'de> for Read<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        P::exactly(deserializer).map(Self)
    }
}

impl<'de, P: Exactly<'de>> Exactly<'de> for Option<P> {
    fn exactly<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Read<P>>::deserialize(deserializer)?.map(|Read(pair)| pair))
    }
}

impl<'de, P: Exactly<'de>> Exactly<'de> for Vec<P> {
    fn exactly<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Read<P>>::deserialize(deserializer)?.into_iter().map(|Read(pair)| pair).collect())
    }
}

impl<'de, P: Exactly<'de>> Exactly<'de> for Listed<P> {
    fn exactly<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Listed::<Read<P>>::deserialize(deserializer)? {
            Listed::Here(entries) => Self::Here(entries.into_iter().map(|Read(pair)| pair).collect()),
            Listed::File(file) => Self::File(file),
        })
    }
}

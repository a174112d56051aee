//! Quantities as scenario files write them; the text form is that of `evenair-units`.

use evenair_units::{Bytes, Dbm, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

pub use evenair_units::{Amount, Decibels, Doppler, Frequency, Length, PacketCount, Probability, Speed};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                text.parse().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

quantity!(
    /// A length of time.
    Time(Duration)
);
quantity!(
    /// A bit rate.
    RateQuantity(Rate)
);
quantity!(
    /// A size.
    Size(Bytes)
);
quantity!(
    /// A power level.
    Power(Dbm)
);

//! Experiments of a paper that are neither one run of the packet world nor an answer of the theory. The file of an
//! experiment has its keys in study files, its procedure and its results.

mod fair_share;
pub(crate) mod sawtooth;

pub use fair_share::FairShare;

/// Reads and writes the words of an enum of which one variant, `Experiment`, stands for all words of another.
macro_rules! with_the_words_of {
    ($of:ident) => {
        impl serde::Serialize for $of {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::Experiment(experiment) => serde::Serialize::serialize(experiment, serializer),
                    own => Self::serialize(own, serializer),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $of {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use with_the_words_of;

//! The reason for a law's number of connections, in a word, for logs and for users.

use core::fmt;

/// The reason for a law's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Reason {
    /// It begins: nothing has been seen yet.
    #[default]
    Begins,
    /// The law is one of a user's own, and gives no reason.
    Untold,
    /// It is the configured number.
    Configured,
    /// The law follows the round trip, or the utility's function of it.
    Followed,
    /// The backlog costs less than the flow would give, or more: the law moves towards the number that is
    /// worth its price.
    Priced,
    /// Little waits: there may be room for more.
    Uncongested,
    /// Too much waits.
    Delayed,
    /// Too much is sent again.
    Lossy,
    /// There was no round trip to judge by.
    Unsampled,
    /// A further connection is on trial.
    OnTrial,
    /// A trial is over, and its connections have earned their places.
    Earned,
    /// The last one brought too little, and one fewer is tried.
    FewerTried,
    /// It began with a remembered number, and is tried with fewer.
    RememberedTried,
    /// The last trial brought too little: there is none for a while.
    Resting,
    /// It may not be more.
    Bounded,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begins => "it begins",
            Self::Untold => "the law gives no reason",
            Self::Configured => "so many were asked for",
            Self::Followed => "the law follows the round trip",
            Self::Priced => "the law follows the price of the backlog",
            Self::Uncongested => "little waits, so that there may be room for more",
            Self::Delayed => "too much waits in queues",
            Self::Lossy => "too much is sent again",
            Self::Unsampled => "there was no round trip to judge by",
            Self::OnTrial => "the last connection is on trial",
            Self::Earned => "the last connection has earned its place",
            Self::FewerTried => "the last connection brought too little, and one fewer is tried",
            Self::RememberedTried => "it began with a remembered number, and fewer are tried",
            Self::Resting => "another connection brought too little, and is not tried for a while",
            Self::Bounded => "more are not allowed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_reason_reads_as_a_sentence() {
        assert_eq!(Reason::default().to_string(), "it begins");
        assert_eq!(Reason::Delayed.to_string(), "too much waits in queues");
        assert_eq!(Reason::Lossy.to_string(), "too much is sent again");
    }
}

//! Tapes: records of each event that a law received and of its answers, and a replay of a law over them.
//!
//! A record has one event with all its arguments, the time included, and every answer that the law's host
//! could have queried afterwards. `family!` makes both types of each family from the verbs of its trait, so
//! that no verb can be forgotten. A [`Recorder`] stands in a law's place and records its calls. It is a law
//! of a user's own, so any host runs it unchanged (`OwnWindow::new(Recorder::new(params, tape))`). [`replay`]
//! runs a law of the family over a tape; [`first_difference`] compares the answers bit for bit. So a live run
//! is checked against the simulated law, and a law written in another language against ours.
//!
//! Kept as text (feature `serde`), a record is for machines: times are in nanoseconds, rates in bit/s, sizes
//! in bytes, and all numbers read back to the last bit. A number that is not finite is the text of its bits,
//! `"0x7ff0000000000000"`. Unknown values, and answers of verbs that were not called, are `null`.
//!
//! ```
//! use evenair_laws::connections::{ConnectionLaw, ConnectionParams, IimdParams};
//! use evenair_laws::flow::{FlowRole, FlowView};
//! use evenair_laws::tape::{Recorder, first_difference, replay};
//! use evenair_units::{Bytes, Duration};
//! let params = ConnectionParams::from(IimdParams::cz06());
//! let mut law = Recorder::new(params.clone(), Vec::new());
//! law.begin(&FlowRole { payload: Bytes::new(1000) });
//! let seen = |ms| FlowView { round_trip_of_probes: Some(Duration::from_millis(ms)), ..FlowView::default() };
//! let live = [168, 168, 168, 210].map(|ms| law.on_interval(&seen(ms)));
//! // The first record is the law's place.
//! let tape = law.into_tape();
//! let again = replay(&params, tape.iter().map(|record| &record.told)).unwrap();
//! assert_eq!(again[1..].iter().map(|answer| answer.on_interval.unwrap()).collect::<Vec<_>>(), live);
//! // E-MULTCP with another threshold would have answered otherwise.
//! let other = ConnectionParams::from(IimdParams { threshold: 0.5, ..IimdParams::cz06() });
//! assert_eq!(first_difference(&params, &tape), Ok(None));
//! assert_eq!(first_difference(&other, &tape), Ok(Some(4)));
//! ```

use crate::{Family, OwnLaw};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::fmt::Debug;

/// One event of a tape.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Record<T, A> {
    /// The law's observation.
    pub told: T,
    /// The law's answer, and its answers to every question afterwards.
    pub answer: A,
}

/// The record of a family, by its enum of parameters.
pub type RecordOf<P> = Record<<P as Taped>::Told, <P as Taped>::Answer>;

/// A family of laws that can be recorded and replayed.
pub trait Taped: Family {
    /// An observation: a verb of the family's trait, and its arguments.
    type Told: Clone + Debug;
    /// The value of a verb that gives one, and the answers to the trait's questions.
    type Answer: Clone + Debug;

    /// The law is put in its place.
    fn begun(place: &Self::Place) -> Self::Told;

    /// The place of a law, if the event carries one.
    fn place(told: &Self::Told) -> Option<&Self::Place>;

    /// Tells a law.
    fn tell(law: &mut Self::Law, told: &Self::Told) -> Self::Answer;

    /// Asks it everything.
    fn ask(law: &Self::Law) -> Self::Answer;
}

/// Takes records: a vector, or a user's own type that stores or sends them.
pub trait Tape<R> {
    /// One more.
    fn add(&mut self, record: R);
}

impl<R> Tape<R> for Vec<R> {
    fn add(&mut self, record: R) {
        self.push(record);
    }
}

/// A tape does not begin with the law's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoBeginning;

impl fmt::Display for NoBeginning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tape does not begin with the place that the law was put in (\"begin\")")
    }
}

impl core::error::Error for NoBeginning {}

/// A law that receives events one by one.
#[derive(Clone)]
struct Player<P: Taped> {
    params: P,
    /// None before it is put in its place.
    law: Option<P::Law>,
}

impl<P: Taped> Player<P> {
    const fn new(params: P) -> Self {
        Self { params, law: None }
    }

    /// Applies the event to the law. The law answers once it has its place. A second place creates a new law.
    fn hear(&mut self, told: &P::Told) -> Option<P::Answer> {
        if let Some(place) = P::place(told) {
            let law = self.law.insert(self.params.begin(place));
            return Some(P::ask(law));
        }
        self.law.as_mut().map(|law| P::tell(law, told))
    }
}

/// A law's answers to a tape.
///
/// # Errors
/// If the tape does not begin with its place.
pub fn replay<'a, P: Taped>(
    params: &P,
    told: impl IntoIterator<Item = &'a P::Told>,
) -> Result<Vec<P::Answer>, NoBeginning>
where
    P::Told: 'a,
{
    let mut player = Player::new(params.clone());
    told.into_iter().map(|told| player.hear(told).ok_or(NoBeginning)).collect()
}

/// The first record of a tape with an answer that differs from the law's in any bit; none, if all agree.
///
/// # Errors
/// If the tape does not begin with its place.
pub fn first_difference<P: Taped>(params: &P, tape: &[RecordOf<P>]) -> Result<Option<usize>, NoBeginning> {
    let answers = replay(params, tape.iter().map(|record| &record.told))?;
    // The output of `Debug` distinguishes all numbers, zeros by their sign; a NaN equals itself.
    let differs = |(record, answer): (&RecordOf<P>, &P::Answer)| {
        format!("{:?}", record.answer) != format!("{answer:?}")
    };
    Ok(tape.iter().zip(&answers).position(differs))
}

/// A law that records: it answers as the wrapped law does and writes down events and answers.
///
/// A copy has a copy of the tape. `Debug` prints the law alone, by which laws of users' own are compared.
#[derive(Clone)]
pub struct Recorder<P: Taped, S> {
    player: Player<P>,
    tape: S,
}

impl<P: Taped, S: Tape<RecordOf<P>>> Recorder<P, S> {
    /// A law that has no place yet: `begin` of its family's trait puts it there.
    pub const fn new(params: P, tape: S) -> Self {
        Self { player: Player::new(params), tape }
    }

    /// The tape so far.
    pub const fn tape(&self) -> &S {
        &self.tape
    }

    /// The tape, when the law is no longer wanted.
    pub fn into_tape(self) -> S {
        self.tape
    }

    /// The law, for queries.
    pub(crate) fn law(&self) -> &P::Law {
        self.player.law.as_ref().expect("a law has its place before queries")
    }

    /// Tells the law, and writes it down.
    pub(crate) fn pass(&mut self, told: P::Told) -> P::Answer {
        let answer = self.player.hear(&told).expect("a law has its place before events");
        self.tape.add(Record { told, answer: answer.clone() });
        answer
    }
}

impl<P: Taped, S> Debug for Recorder<P, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.player.law, f)
    }
}

impl<P, S> OwnLaw for Recorder<P, S>
where
    P: Taped<Law: Send + Sync> + Send + Sync + 'static,
    S: Clone + Send + Sync + 'static,
{
    /// That of the law, which it does not change.
    fn identity(&self) -> String {
        let params = &self.player.params;
        params.identity().unwrap_or_else(|| format!("{params:?}"))
    }
}

/// How quantities stand on a tape: as whole numbers of their base unit, and numbers to the last bit.
#[cfg(feature = "serde")]
pub(crate) mod exact {
    use crate::{backoff, connections, flow, gateway, marking, rates, window};
    use alloc::format;
    use core::fmt;
    use evenair_units::{Bytes, Duration, Instant, Probability, Rate};
    use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, Visitor};
    use serde::ser::{Serialize, Serializer};

    /// A fact as it is kept.
    pub(crate) trait Exact: Sized {
        type Kept: Serialize + DeserializeOwned;
        fn kept(&self) -> Self::Kept;
        fn read(kept: Self::Kept) -> Self;
    }

    pub(crate) fn serialize<T: Exact, S: Serializer>(fact: &T, serializer: S) -> Result<S::Ok, S::Error> {
        fact.kept().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Exact, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::Kept::deserialize(deserializer).map(T::read)
    }

    macro_rules! exact {
        ($($Fact:ty: $Kept:ty = $kept:expr, $read:expr;)*) => {
            $(impl Exact for $Fact {
                type Kept = $Kept;
                fn kept(&self) -> $Kept {
                    let kept: fn(&Self) -> $Kept = $kept;
                    kept(self)
                }
                fn read(kept: $Kept) -> Self {
                    let read: fn($Kept) -> Self = $read;
                    read(kept)
                }
            })*
        };
        (as they are: $($Fact:ty),* $(,)?) => {
            exact! { $($Fact: Self = Self::clone, core::convert::identity;)* }
        };
    }

    exact! {
        Duration: u64 = |time| time.as_nanos(), Self::from_nanos;
        Rate: u64 = |rate| rate.as_bps(), Self::from_bps;
        Bytes: u32 = |size| size.count(), Self::new;
        f64: Number = |number| Number(*number), |number| number.0;
    }
    exact! { as they are:
        bool, u32, Instant, Probability,
        backoff::Access, backoff::LinkView, backoff::Scope, backoff::Space,
        connections::Reason,
        flow::FlowView, flow::Signal, marking::QueueView, marking::Verdict,
        gateway::Allocation, gateway::GatewayView, gateway::NewClasses,
        rates::Chain, rates::FrameStatus, rates::FrameView,
        window::Acked, window::Delivery, window::Loss,
    }

    impl<T: Exact> Exact for Option<T> {
        type Kept = Option<T::Kept>;
        fn kept(&self) -> Self::Kept {
            self.as_ref().map(T::kept)
        }
        fn read(kept: Self::Kept) -> Self {
            kept.map(T::read)
        }
    }

    impl<T: Exact> Exact for alloc::vec::Vec<T> {
        type Kept = alloc::vec::Vec<T::Kept>;
        fn kept(&self) -> Self::Kept {
            self.iter().map(T::kept).collect()
        }
        fn read(kept: Self::Kept) -> Self {
            kept.into_iter().map(T::read).collect()
        }
    }

    /// A number, which may be none: then the text of its bits.
    pub(crate) struct Number(f64);

    impl Serialize for Number {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if self.0.is_finite() {
                serializer.serialize_f64(self.0)
            } else {
                serializer.collect_str(&format_args!("{:#018x}", self.0.to_bits()))
            }
        }
    }

    impl<'de> Deserialize<'de> for Number {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Text;
            impl Visitor<'_> for Text {
                type Value = Number;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a number, or the bits of one such as \"0x7ff0000000000000\"")
                }
                fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
                    Ok(Number(number))
                }
                fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
                    Ok(Number(number as f64))
                }
                fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
                    Ok(Number(number as f64))
                }
                fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                    let bits = text.strip_prefix("0x").and_then(|bits| u64::from_str_radix(bits, 16).ok());
                    let bits =
                        bits.ok_or_else(|| E::custom(format!("\"{text}\" has no bits of a number")))?;
                    Ok(Number(f64::from_bits(bits)))
                }
            }
            deserializer.deserialize_any(Text)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn every_number_reads_back_to_its_bits() {
            let odd = [
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
                -f64::NAN,
                f64::from_bits(0x7ff0_0000_0000_0001),
            ];
            let small =
                [-0.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, 0.1 + 0.2, 1.0 / 3.0, 9_007_199_254_740_993.0];
            for number in odd.into_iter().chain(small) {
                let text = serde_json::to_string(&Number(number)).unwrap();
                let read: Number = serde_json::from_str(&text).unwrap();
                assert_eq!(read.0.to_bits(), number.to_bits(), "{text}");
            }
            assert_eq!(serde_json::to_string(&Number(f64::INFINITY)).unwrap(), "\"0x7ff0000000000000\"");
            let whole: Number = serde_json::from_str("3").unwrap();
            assert_eq!(whole.0.to_bits(), 3f64.to_bits(), "as another language may write it");
            assert!(serde_json::from_str::<Number>("\"five\"").is_err());
            let told = serde_json::from_str::<Number>("[]")
                .map_or_else(|error| alloc::format!("{error}"), |_| alloc::string::String::new());
            assert!(told.contains("a number, or the bits of one"), "{told}");
        }

        #[test]
        fn optional_and_repeated_facts_are_kept_singly() {
            let [one, other] = [3, 5].map(Duration::from_nanos);
            assert_eq!(Some(one).kept(), Some(3));
            assert_eq!([Some(3), None].map(Option::<Duration>::read), [Some(one), None]);
            assert_eq!(alloc::vec![one, other].kept(), [3, 5]);
            assert_eq!(alloc::vec::Vec::<Duration>::read([3, 5].into()), [one, other]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::{WindowParams, WindowTold};
    use alloc::string::ToString;

    #[test]
    fn a_tape_without_a_place_is_refused() {
        let params = WindowParams::from(crate::window::RenoParams {});
        let told = [WindowTold::Deflate { segments: 1.0 }];
        assert_eq!(replay(&params, &told).unwrap_err(), NoBeginning);
        assert_eq!(replay(&params, &[]).unwrap().len(), 0);
    }

    #[test]
    fn tape_locates_the_first_other_answer() {
        let reno = WindowParams::from(crate::window::RenoParams {});
        let start = crate::window::WindowStart { initial_window: 2.0, ..Default::default() };
        let mut law = Recorder::new(reno.clone(), Vec::new());
        law.pass(<WindowParams as Taped>::begun(&start));
        let deflate = |segments| WindowTold::Deflate { segments };
        law.pass(deflate(0.0));
        law.pass(deflate(1.0));
        assert_eq!(format!("{law:?}"), format!("{:?}", Some(law.law())), "the law alone");
        assert_eq!(
            law.identity(),
            format!("{reno:?}"),
            "a law without words is identified by its parameters"
        );
        assert_eq!(law.tape().len(), 3);
        let mut tape = law.into_tape();
        assert_eq!(first_difference(&reno, &tape), Ok(None));
        tape[2].answer.congestion_window = 9.0;
        assert_eq!(first_difference(&reno, &tape), Ok(Some(2)));
        assert!(NoBeginning.to_string().contains("\"begin\""));
        assert_eq!(first_difference(&reno, &tape[1..]), Err(NoBeginning));
    }
}

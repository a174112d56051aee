//! The common form of a family's laws: parameters by name, states by value, users' own behind a box.
//!
//! [`family!`] makes both enums of a family from one line per law. Built-in laws are enums, so that a call is a match and
//! a state is cloned, compared and kept; a law of a user's own costs a call through a table.

use crate::BadParameter;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

/// Parameters of a law, as written in a scenario.
pub trait Parameters: Sized {
    /// The scenario's settings beside them that they may depend on.
    type Surroundings;
    /// The facts of the place that the law is put in.
    type Place;
    /// The law's state.
    type Law: Clone + Debug;

    /// Checks them.
    ///
    /// # Errors
    /// Names the first one outside its range, by its key in the scenario language.
    fn validated(self) -> Result<Self, BadParameter>;

    /// Writes out the values that follow from the surroundings, so that the parameters alone determine the
    /// law.
    fn resolve(&mut self, _surroundings: &Self::Surroundings) {}

    /// The law's state at its start.
    fn begin(&self, place: &Self::Place) -> Self::Law;

    /// The identity of a law of a user's own: its name and parameters; none for a built-in law, which its
    /// parameters identify.
    fn identity(&self) -> Option<String> {
        None
    }
}

/// A family's enum of parameters, with one variant for each law.
pub trait Family: Parameters + Clone + Debug {
    /// The source of each built-in law, in the order of the enum: the text of `# Source` in its file, empty
    /// if there is none.
    fn sources() -> Vec<&'static str>;

    /// Every built-in law with its default parameters, in the same order.
    fn laws() -> Vec<Self>;
}

/// The text under `# Source` in the file that defines a type.
pub(crate) fn source_of<P>() -> &'static str {
    // "evenair_laws::backoff::dcf::DcfParams" is defined in the module backoff::dcf.
    let path = core::any::type_name::<P>().split_once("::").map_or("", |(_, path)| path);
    let module = path.rsplit_once("::").map_or("", |(module, _)| module);
    let sources: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));
    sources.iter().find(|(of, _)| *of == module).map_or("", |(_, source)| source)
}

/// A law of a user's own, beside its family's trait.
pub trait OwnLaw: Clone + Debug + Send + Sync + 'static {
    /// Its name and its parameters, in words: the key under which runs are distinguished and stored.
    fn identity(&self) -> String;
}

/// One family: its parameters' enum, its states' enum, and the box for users' own laws.
///
/// `told` are the trait's verbs that change the state beside `begin`, each after its name on tapes; `asked`
/// are its queries. An argument is a word by value, or behind `&`. A law is a line `Name(Params => State)`.
macro_rules! family {
    (
        $(#[$params_doc:meta])* parameters $Params:ident,
        $(#[$state_doc:meta])* state $State:ident: $Law:ident,
        $(#[$own_doc:meta])* own $Own:ident: $OwnLaw:ident,
        place $Surroundings:ty => $Place:ty,
        tape $Told:ident => $Answer:ident,
        default $default:expr,
        told $told:tt
        asked $asked:tt
        laws $laws:tt
    ) => {
        $crate::family::family!(@types
            ($(#[$params_doc])*) $Params, ($(#[$state_doc])*) $State, $Own, $Surroundings, $Place, $laws);
        $crate::family::family!(@state $State, $Law, ($Place), $told, $asked, $laws);
        $crate::family::family!(@tape $Params, $State, $Law, ($Place), $Told, $Answer, $told, $asked);

        $(#[$own_doc])*
        pub struct $Own(alloc::boxed::Box<dyn $OwnLaw>);

        /// The family's trait with the bounds that a box needs; every [`OwnLaw`](crate::OwnLaw) implements
        /// it.
        pub trait $OwnLaw: $Law + core::fmt::Debug + Send + Sync {
            /// A copy in a box of its own.
            fn boxed(&self) -> alloc::boxed::Box<dyn $OwnLaw>;
            /// [`OwnLaw::identity`](crate::OwnLaw::identity).
            fn words(&self) -> alloc::string::String;
        }

        impl<L: $Law + $crate::OwnLaw> $OwnLaw for L {
            fn boxed(&self) -> alloc::boxed::Box<dyn $OwnLaw> {
                alloc::boxed::Box::new(self.clone())
            }
            fn words(&self) -> alloc::string::String {
                self.identity()
            }
        }

        impl $Own {
            /// A law as it is before it is put in its place.
            pub fn new(law: impl $Law + $crate::OwnLaw) -> Self {
                Self(alloc::boxed::Box::new(law))
            }

            /// Its name and its parameters, in words.
            pub fn identity(&self) -> alloc::string::String {
                self.0.words()
            }
        }

        impl Clone for $Own {
            fn clone(&self) -> Self {
                Self(self.0.boxed())
            }
        }

        impl core::fmt::Debug for $Own {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(&*self.0, f)
            }
        }

        /// By identity and by the output of `Debug`.
        impl PartialEq for $Own {
            fn eq(&self, other: &Self) -> bool {
                self.identity() == other.identity()
                    && alloc::format!("{self:?}") == alloc::format!("{other:?}")
            }
        }

        impl From<$Own> for $Params {
            fn from(own: $Own) -> Self {
                Self::Own(own)
            }
        }

        #[cfg(feature = "serde")]
        impl $crate::family::words::Tagged for $Params {
            const DEFAULT: Option<&'static str> = $default;
            fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $Params {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serializer)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $Params {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::family::words::read(deserializer)
            }
        }
    };

    (@types ($($params_doc:tt)*) $Params:ident, ($($state_doc:tt)*) $State:ident, $Own:ident,
        $Surroundings:ty, $Place:ty, { $($(#[$doc:meta])* $Name:ident($P:ty => $S:ty),)+ }
    ) => {
        $($params_doc)*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize, serde::Deserialize),
            serde(tag = "law", rename_all = "kebab-case", remote = "Self")
        )]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub enum $Params {
            $($(#[$doc])* $Name($P),)+
            /// A law of a user's own, which no file can name.
            #[cfg_attr(feature = "serde", serde(skip))]
            Own($Own),
        }

        $($state_doc)*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub enum $State {
            $($(#[$doc])* $Name($S),)+
            /// A law of a user's own.
            #[cfg_attr(feature = "serde", serde(skip))]
            Own($Own),
        }

        impl $crate::Parameters for $Params {
            type Surroundings = $Surroundings;
            type Place = $Place;
            type Law = $State;

            fn validated(self) -> Result<Self, $crate::BadParameter> {
                match self {
                    $(Self::$Name(law) => law.validated().map(Self::$Name),)+
                    Self::Own(_) => Ok(self),
                }
            }

            fn resolve(&mut self, surroundings: &Self::Surroundings) {
                match self {
                    $(Self::$Name(law) => law.resolve(surroundings),)+
                    Self::Own(_) => (),
                }
            }

            fn begin(&self, place: &Self::Place) -> Self::Law {
                match self {
                    $(Self::$Name(law) => $State::$Name(law.begin(place)),)+
                    Self::Own(own) => {
                        let mut own = own.clone();
                        own.0.begin(place);
                        $State::Own(own)
                    },
                }
            }

            fn identity(&self) -> Option<alloc::string::String> {
                if let Self::Own(own) = self { Some(own.identity()) } else { None }
            }
        }

        impl $crate::Family for $Params {
            fn sources() -> alloc::vec::Vec<&'static str> {
                alloc::vec![$($crate::family::source_of::<$P>()),+]
            }

            fn laws() -> alloc::vec::Vec<Self> {
                alloc::vec![$(Self::$Name(<$P>::default())),+]
            }
        }

        $(impl From<$P> for $Params {
            fn from(params: $P) -> Self {
                Self::$Name(params)
            }
        })+
    };

    (@state $State:ident, $Law:ident, ($Place:ty), {
            $($Verb:ident: $told:ident($($arg:ident: $(& $Seen:ident)? $($Value:ident)?),*) $(-> $Gave:ident)?;)*
        }, { $($asked:ident() -> $Asked:ty;)* }, $laws:tt
    ) => {
        impl $Law for $State {
            $crate::family::family!(@told begin (place: &$Place) (place) () $laws);
            $($crate::family::family!(
                @told $told ($($arg: $(& $Seen)? $($Value)?),*) ($($arg),*) ($($Gave)?) $laws);)*
            $($crate::family::family!(@asked $asked ($Asked) $laws);)*
        }
    };

    (@tape $Params:ident, $State:ident, $Law:ident, ($Place:ty), $Told:ident, $Answer:ident, {
            $($Verb:ident: $told:ident($($arg:ident: $(& $Seen:ident)? $($Value:ident)?),*) $(-> $Gave:ident)?;)*
        }, { $($asked:ident() -> $Asked:ty;)* }
    ) => {
        #[doc = concat!("An event of a law, as [tapes](crate::tape) keep it: the verbs of [`", stringify!($Law), "`].")]
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize, serde::Deserialize),
            serde(rename_all = "snake_case")
        )]
        #[allow(clippy::large_enum_variant, reason = "a record of a tape; boxed, its fields would not be its own")]
        #[non_exhaustive]
        pub enum $Told {
            /// It is put in its place.
            Begin($Place),
            $(
                #[doc = concat!("[`", stringify!($Law), "::", stringify!($told), "`].")]
                $Verb {
                    $(
                        /// The argument as the law receives it.
                        #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
                        $arg: $($Seen)? $($Value)?,
                    )*
                },
            )*
        }

        #[doc = concat!("A law's answer to an event, and all answers of [`", stringify!($Law), "`] after it.")]
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub struct $Answer {
            $($(
                #[doc = concat!("What [`", stringify!($Law), "::", stringify!($told), "`] gave; none after another verb.")]
                #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
                pub $told: Option<$Gave>,
            )?)*
            $(
                #[doc = concat!("[`", stringify!($Law), "::", stringify!($asked), "`].")]
                #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
                pub $asked: $Asked,
            )*
        }

        impl $crate::tape::Taped for $Params {
            type Told = $Told;
            type Answer = $Answer;

            fn begun(place: &$Place) -> $Told {
                $Told::Begin(<$Place>::clone(place))
            }

            fn place(told: &$Told) -> Option<&$Place> {
                if let $Told::Begin(place) = told { Some(place) } else { None }
            }

            fn tell(law: &mut $State, told: &$Told) -> $Answer {
                $($(let mut $told: Option<$Gave> = None;)?)*
                match told {
                    $Told::Begin(place) => law.begin(place),
                    $($Told::$Verb { $($arg),* } => $crate::family::family!(
                        @gave (law.$told($($crate::family::family!(@pass $arg [$($Seen)?])),*)) [$($told $Gave)?]),)*
                }
                $Answer {
                    $($($told: $crate::family::family!(@first $told $Gave),)?)*
                    $($asked: law.$asked(),)*
                }
            }

            #[allow(unused_variables, reason = "a family may have no questions")]
            fn ask(law: &$State) -> $Answer {
                $Answer { $($($told: None::<$Gave>,)?)* $($asked: law.$asked(),)* }
            }
        }

        /// The law answers as ever, and both are written down.
        impl<S> $Law for $crate::tape::Recorder<$Params, S>
        where
            S: $crate::tape::Tape<$crate::tape::Record<$Told, $Answer>>,
        {
            fn begin(&mut self, place: &$Place) {
                self.pass(<$Params as $crate::tape::Taped>::begun(place));
            }
            $(fn $told(&mut self, $($arg: $(& $Seen)? $($Value)?),*) $(-> $Gave)? {
                let told = $Told::$Verb { $($arg: $crate::family::family!(@keep $arg [$($Seen)?])),* };
                $crate::family::family!(@give (self.pass(told)) [$($told $Gave)?])
            })*
            $(fn $asked(&self) -> $Asked {
                self.law().$asked()
            })*
        }
    };

    (@gave ($call:expr) []) => { $call };
    (@gave ($call:expr) [$told:ident $Gave:ident]) => { $told = Some($call) };
    (@give ($answer:expr) []) => {{ $answer; }};
    (@give ($answer:expr) [$told:ident $Gave:ident]) => { $answer.$told.expect("a verb that gives has given") };
    (@first $told:ident $Gave:ident) => { $told };
    (@pass $arg:ident []) => { *$arg };
    (@pass $arg:ident [$Seen:ident]) => { $arg };
    (@keep $arg:ident []) => { $arg };
    (@keep $arg:ident [$Seen:ident]) => { $Seen::clone($arg) };

    (@told $verb:ident ($($arg:ident: $Arg:ty),*) $arguments:tt ($($Told:ty)?)
        { $($(#[$doc:meta])* $Name:ident($P:ty => $S:ty),)+ }
    ) => {
        #[inline]
        fn $verb(&mut self, $($arg: $Arg),*) $(-> $Told)? {
            match self {
                $(Self::$Name(law) => law.$verb $arguments,)+
                Self::Own(own) => own.0.$verb $arguments,
            }
        }
    };

    (@asked $verb:ident ($Asked:ty) { $($(#[$doc:meta])* $Name:ident($P:ty => $S:ty),)+ }) => {
        #[inline]
        fn $verb(&self) -> $Asked {
            match self {
                $(Self::$Name(law) => law.$verb(),)+
                Self::Own(own) => own.0.$verb(),
            }
        }
    };
}
pub(crate) use family;

/// How parameters are read: a table with the law's word under `law`, or the word alone where its defaults will do.
#[cfg(feature = "serde")]
pub(crate) mod words {
    use alloc::string::String;
    use core::fmt;
    use core::marker::PhantomData;
    use serde::de::value::{MapAccessDeserializer, MapDeserializer, StrDeserializer, StringDeserializer};
    use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

    const TAG: &str = "law";

    /// An enum of parameters with its tag.
    pub(crate) trait Tagged: Sized {
        /// The law of a table that names none.
        const DEFAULT: Option<&'static str>;
        fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
    }

    pub(crate) fn read<'de, T: Tagged, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(Words(PhantomData))
    }

    struct Words<T>(PhantomData<T>);

    impl<'de, T: Tagged> Visitor<'de> for Words<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a law's name, or a table with its name under \"law\" and its parameters")
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
            T::read(MapDeserializer::new(core::iter::once((TAG, name))))
        }

        fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
            let missing = T::DEFAULT;
            T::read(MapAccessDeserializer::new(WithDefault { table, missing, ends: false }))
        }
    }

    /// A table that ends with the default law where it names none.
    struct WithDefault<A> {
        table: A,
        missing: Option<&'static str>,
        ends: bool,
    }

    impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithDefault<A> {
        type Error = A::Error;

        fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
            if self.ends {
                return Ok(None);
            }
            if let Some(key) = self.table.next_key::<String>()? {
                if key == TAG {
                    self.missing = None;
                }
                return seed.deserialize(StringDeserializer::new(key)).map(Some);
            }
            self.ends = true;
            match self.missing {
                Some(_) => seed.deserialize(StrDeserializer::new(TAG)).map(Some),
                None => Ok(None),
            }
        }

        fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
            match self.missing.take_if(|_| self.ends) {
                Some(law) => seed.deserialize(StrDeserializer::new(law)),
                None => self.table.next_value_seed(seed),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::BackoffParams;
    use crate::connections::{ConnectionParams, FixedParams};
    use alloc::string::ToString;

    #[test]
    fn a_law_has_the_source_of_its_file() {
        assert!(source_of::<crate::backoff::AdaptiveParams>().starts_with("[Chen10]"));
        assert!(source_of::<crate::marking::PieParams>().contains("RFC 8033"));
        assert_eq!(source_of::<u32>(), "");
    }

    #[test]
    fn table_without_law_is_of_the_default() {
        let read = |text| serde_json::from_str::<ConnectionParams>(text).map_err(|error| error.to_string());
        assert_eq!(read(r#"{"law": "fixed", "n": 3}"#), Ok(FixedParams { connections: 3 }.into()));
        assert_eq!(read(r#"{"n": 3, "law": "fixed"}"#), Ok(FixedParams { connections: 3 }.into()));
        let one = FixedParams::default();
        assert_eq!(read(r#"{"law": "fixed"}"#), Ok(one.into()));
        assert_eq!(one.identity(), None, "its parameters tell it from others");
        let default = ConnectionParams::from(crate::connections::RttProportionalParams::default());
        assert_eq!(read("{}"), Ok(default));
        assert!(serde_json::from_str::<BackoffParams>("{}").is_err(), "it has no default");
        let told = read("3").unwrap_err();
        assert!(told.contains("a law's name, or a table with its name under \"law\""), "{told}");
    }
}

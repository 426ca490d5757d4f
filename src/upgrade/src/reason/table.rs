//! The form of the table of reasons.

use super::advice::Advice;

/// The part of a row that no value changes.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The variant's name. In small letters it is the anchor of the runbook's section.
    pub code: &'static str,
    /// What to do.
    pub advice: Advice,
}

/// Makes `Reason` and `ROWS` of the table. A row is a variant with its meaning, its advice and its
/// sentence, in this order. A row without an advice does not compile. An advice is one that several
/// reasons share, or a first step and what follows.
macro_rules! reasons {
    ($(
        $(#[doc = $meaning:literal])+
        #[advice($($advice:tt)+)]
        $(#[$($sentence:tt)+])+
        $code:ident $({ $($values:tt)* })?,
    )+) => {
        /// Why a request was refused, a step failed or a trial was aborted.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
        #[serde(tag = "code")]
        // The message names each field.
        #[allow(missing_docs)]
        pub enum Reason {
            $(
                $(#[doc = $meaning])+
                $(#[$($sentence)+])+
                $code $({ $($values)* })?,
            )+
        }

        /// The row of each reason, in the order of the table.
        pub const ROWS: &[Row] = &[
            $(Row { code: stringify!($code), advice: table::advice!($($advice)+) },)+
        ];
    };
}

/// The advice of a row.
macro_rules! advice {
    ($shared:ident) => {
        advice::$shared
    };
    ($first:literal, $then:ident) => {
        Advice::new($first, Then::$then)
    };
}

pub(super) use {advice, reasons};

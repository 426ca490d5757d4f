//! The names of variants, as words.

/// Gives each variant of a type its own name as a stable word. A variant that is left out does not
/// compile.
#[macro_export]
macro_rules! codes {
    ($what:ident::$how:ident: $($name:ident)+) => {
        impl $what {
            /// A stable word: the name of the variant.
            #[must_use]
            pub const fn $how(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => stringify!($name),)+
                }
            }
        }
    };
}

//! The code of each rule, by the rule's name.

use crate::Code;
use crate::rules::table;

macro_rules! constants {
    ($($number:literal $code:ident = $family:ident::$rule:ident,)*) => {
        $(
            #[doc = concat!("STR", $number, ": `", stringify!($family), "/", stringify!($rule), ".rs`.")]
            pub const $code: Code = Code($number);
        )*
    };
}

table!(constants);

//! A deserialiser that wraps another one and cleans each string that passes through it.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::letters::harmless;

/// Wraps a [`Deserializer`] or its parts: each string that passes is harmless and of bounded
/// length.
#[derive(Clone, Copy, Debug)]
pub struct Clean<T> {
    inner: T,
    longest: usize,
}

impl<T> Clean<T> {
    /// Cuts strings that are longer than `longest` bytes.
    pub const fn new(inner: T, longest: usize) -> Self {
        Self { inner, longest }
    }

    const fn around<U>(&self, inner: U) -> Clean<U> {
        Clean::new(inner, self.longest)
    }

    fn cut<'a>(&self, text: &'a str) -> &'a str {
        &text[..text.floor_char_boundary(self.longest)]
    }
}

macro_rules! deserialize {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let longest = self.longest;
            self.inner.$method($($name,)* Clean::new(visitor, longest))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Clean<D> {
    type Error = D::Error;

    deserialize! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident($type:ty);)*) => {$(
        fn $method<E: serde::de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Clean<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool(bool);
        visit_i64(i64);
        visit_i128(i128);
        visit_u64(u64);
        visit_u128(u128);
        visit_f64(f64);
        visit_bytes(&[u8]);
    }

    // Borrowed and owned strings also come here, through the trait's default methods.
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<V::Value, E> {
        let text = harmless(self.cut(text));
        self.inner.visit_str(&text)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let value = self.around(value);
        self.inner.visit_some(value)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let value = self.around(value);
        self.inner.visit_newtype_struct(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        let items = self.around(items);
        self.inner.visit_seq(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        let entries = self.around(entries);
        self.inner.visit_map(entries)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, value: A) -> Result<V::Value, A::Error> {
        let value = self.around(value);
        self.inner.visit_enum(value)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Clean<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        let value = self.around(value);
        self.inner.deserialize(value)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Clean<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Clean<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Clean<A> {
    type Error = A::Error;
    type Variant = Clean<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let longest = self.longest;
        let (value, variant) = self.inner.variant_seed(Clean::new(seed, longest))?;
        Ok((value, Clean::new(variant, longest)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Clean<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use crate::sanitize::from_json;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Choice {
        Unit,
        Text(String),
        Pair(String, String),
        Fields { text: String },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Newtype(String);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        inner: String,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Either {
        Text(String),
    }

    /// One field for each way in which a type can hold a string.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        text: String,
        some: Option<String>,
        none: Option<String>,
        list: Vec<String>,
        map: BTreeMap<String, String>,
        choices: Vec<Choice>,
        newtype: Newtype,
        tuple: (String, u8),
        boxed: Box<str>,
        value: Value,
        untagged: Either,
        letter: char,
        number: f64,
        truth: bool,
        #[serde(flatten)]
        flat: Inner,
    }

    fn all(text: &str) -> All {
        let text = || text.to_owned();
        All {
            text: text(),
            some: Some(text()),
            none: None,
            list: vec![text()],
            map: BTreeMap::from([(text(), text())]),
            choices: vec![
                Choice::Unit,
                Choice::Text(text()),
                Choice::Pair(text(), text()),
                Choice::Fields { text: text() },
            ],
            newtype: Newtype(text()),
            tuple: (text(), 7),
            boxed: text().into(),
            value: json!({ text(): [text(), 1, null, { text(): text() }] }),
            untagged: Either::Text(text()),
            letter: 'x',
            number: 0.5,
            truth: true,
            flat: Inner { inner: text() },
        }
    }

    #[test]
    fn a_string_is_cleaned_wherever_a_type_holds_it() {
        let written = serde_json::to_string(&all("a\u{1b}b\u{202e}c")).expect("it is JSON");
        let read: All = from_json(&written, 100).expect("it was written so");
        assert_eq!(read, all("a b c"));
    }

    #[test]
    fn a_string_without_end_is_cut() {
        let written = serde_json::to_string(&"é".repeat(1 << 20)).expect("it is JSON");
        let read: String = from_json(&written, 100).expect("it was written so");
        assert_eq!(read, "é".repeat(50));
    }

    #[test]
    fn what_is_not_json_of_the_type_is_refused() {
        assert!(from_json::<Inner>("{\"inner\": 1}", 100).is_err());
        assert!(from_json::<Inner>("{\"inner\": \"a\"} {}", 100).is_err());
    }
}

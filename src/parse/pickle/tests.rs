use super::{Heap, PickleError, Value, Why, looks_like, read};
use proptest::prelude::*;
use std::fmt::Write as _;

fn of(bytes: &[u8]) -> Result<(Heap, Value), PickleError> {
    read(bytes)
}

/// A value in words; what is deeper than 20 is left out.
fn words(heap: &Heap, value: Value, depth: usize) -> String {
    let mut out = String::new();
    if depth > 20 {
        out.push_str("...");
    } else if heap.is_dictionary(value) {
        out.push('{');
        for (key, value) in heap.pairs(value) {
            let _ = write!(out, "{}:{},", words(heap, key, depth + 1), words(heap, value, depth + 1));
        }
        out.push('}');
    } else if heap.is_list(value) {
        out.push('[');
        for &item in heap.items(value) {
            let _ = write!(out, "{},", words(heap, item, depth + 1));
        }
        out.push(']');
    } else if let Some(number) = heap.as_int(value) {
        let _ = write!(out, "{number}");
    } else if let Some(number) = heap.as_float(value) {
        let _ = write!(out, "{number:?}");
    } else if let Some(text) = heap.as_text(value) {
        let _ = write!(out, "'{}'", text.escape_ascii());
    } else if let Some(data) = heap.as_data(value) {
        let _ = write!(out, "b'{}'", data.escape_ascii());
    } else {
        out.push_str("None");
    }
    out
}

/// What CPython 3.13 writes for one value with each protocol.
const BY_PROTOCOL: [&[u8]; 6] = [
    b"(dp0\nVa\np1\n(lp2\nI1\naI-2\naI300\naI70000\naL1099511627776L\naL-1180591620717411303424L\naL9223372036854775808L\nasVb\np3\n(F1.5\nNI01\nI00\ntp4\nsVc\np5\nVh\xe9\\u000a\np6\nsVd\np7\nc_codecs\nencode\np8\n(V\\u0000\xff\np9\nVlatin1\np10\ntp11\nRp12\nsVe\np13\nccollections\nOrderedDict\np14\n(tRp15\nVk\np16\n(dp17\nss.",
    b"}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00L1099511627776L\nL-1180591620717411303424L\nL9223372036854775808L\neX\x01\x00\x00\x00bq\x03(G?\xf8\x00\x00\x00\x00\x00\x00NI01\nI00\ntq\x04X\x01\x00\x00\x00cq\x05X\x04\x00\x00\x00h\xc3\xa9\nq\x06X\x01\x00\x00\x00dq\x07c_codecs\nencode\nq\x08(X\x03\x00\x00\x00\x00\xc3\xbfq\tX\x06\x00\x00\x00latin1q\ntq\x0bRq\x0cX\x01\x00\x00\x00eq\rccollections\nOrderedDict\nq\x0e)Rq\x0fX\x01\x00\x00\x00kq\x10}q\x11su.",
    b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\t\x00\x00\x00\x00\x00\x00\x00\x00\xc0\x8a\t\x00\x00\x00\x00\x00\x00\x00\x80\x00eX\x01\x00\x00\x00bq\x03(G?\xf8\x00\x00\x00\x00\x00\x00N\x88\x89tq\x04X\x01\x00\x00\x00cq\x05X\x04\x00\x00\x00h\xc3\xa9\nq\x06X\x01\x00\x00\x00dq\x07c_codecs\nencode\nq\x08X\x03\x00\x00\x00\x00\xc3\xbfq\tX\x06\x00\x00\x00latin1q\n\x86q\x0bRq\x0cX\x01\x00\x00\x00eq\rccollections\nOrderedDict\nq\x0e)Rq\x0fX\x01\x00\x00\x00kq\x10}q\x11su.",
    b"\x80\x03}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\t\x00\x00\x00\x00\x00\x00\x00\x00\xc0\x8a\t\x00\x00\x00\x00\x00\x00\x00\x80\x00eX\x01\x00\x00\x00bq\x03(G?\xf8\x00\x00\x00\x00\x00\x00N\x88\x89tq\x04X\x01\x00\x00\x00cq\x05X\x04\x00\x00\x00h\xc3\xa9\nq\x06X\x01\x00\x00\x00dq\x07C\x02\x00\xffq\x08X\x01\x00\x00\x00eq\tccollections\nOrderedDict\nq\n)Rq\x0bX\x01\x00\x00\x00kq\x0c}q\rsu.",
    b"\x80\x04\x95\x8d\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01a\x94]\x94(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\t\x00\x00\x00\x00\x00\x00\x00\x00\xc0\x8a\t\x00\x00\x00\x00\x00\x00\x00\x80\x00e\x8c\x01b\x94(G?\xf8\x00\x00\x00\x00\x00\x00N\x88\x89t\x94\x8c\x01c\x94\x8c\x04h\xc3\xa9\n\x94\x8c\x01d\x94C\x02\x00\xff\x94\x8c\x01e\x94\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94\x93\x94)R\x94\x8c\x01k\x94}\x94su.",
    b"\x80\x05\x95\x8d\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01a\x94]\x94(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\t\x00\x00\x00\x00\x00\x00\x00\x00\xc0\x8a\t\x00\x00\x00\x00\x00\x00\x00\x80\x00e\x8c\x01b\x94(G?\xf8\x00\x00\x00\x00\x00\x00N\x88\x89t\x94\x8c\x01c\x94\x8c\x04h\xc3\xa9\n\x94\x8c\x01d\x94C\x02\x00\xff\x94\x8c\x01e\x94\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94\x93\x94)R\x94\x8c\x01k\x94}\x94su.",
];

#[test]
fn every_protocol_says_the_same() {
    let expected = r"{'a':[1,-2,300,70000,1099511627776,-1180591620717411303424,9223372036854775808,],'b':[1.5,None,1,0,],'c':'h\xc3\xa9\n','d':b'\x00\xff','e':{'k':{},},}";
    for (protocol, bytes) in BY_PROTOCOL.iter().enumerate() {
        let (heap, value) = of(bytes).unwrap();
        assert_eq!(words(&heap, value, 0), expected, "protocol {protocol}");
        assert!(looks_like(bytes), "protocol {protocol}");
        for cut in 0..bytes.len() {
            assert!(of(&bytes[..cut]).is_err(), "protocol {protocol} cut at {cut}");
        }
    }
}

#[test]
fn nothing_is_called() {
    let evil: [(&[u8], &str); 6] = [
        (b"cos\nsystem\n(S'true'\ntR.", "`os.system`"),
        (b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.", "`builtins.eval`"),
        (b"(S'true'\nios\nsystem\n.", "`os.system`"),
        (b"\x80\x02c__builtin__\n__import__\n.", "`builtins.__import__`"),
        (b"\x80\x02cos\x1b[2J\nx\n.", "`os\\x1b[2J.x`"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n.", "torch._utils._rebuild_tensor_v2"),
    ];
    for (bytes, named) in evil {
        let error = of(bytes).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
        assert!(error.to_string().lines().count() == 1, "{error}");
    }
    for bytes in [&b"Pid\n."[..], b"NQ.", b"\x82\x01.", b"\x97.", b"\x80\x07N."] {
        assert!(of(bytes).is_err());
    }
}

#[test]
fn huge_lengths_and_places_are_refused_before_anything_is_allocated() {
    for bytes in [
        &b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f."[..],
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\xff.",
        b"X\xff\xff\xff\xff.",
        b"T\xff\xff\xff\xff.",
        b"\x8b\xff\xff\xff\x7f.",
        b"\x96\xff\xff\xff\xff\xff\xff\xff\xff.",
        b"Nr\xff\xff\xff\xff.",
        b"Np99999999999999999999\n.",
        b"j\xff\xff\xff\xff.",
    ] {
        assert!(of(bytes).is_err(), "{}", bytes.escape_ascii());
    }
}

#[test]
fn what_grows_from_little_is_stopped() {
    // A list that is copied again and again.
    let mut bytes = b"(".to_vec();
    bytes.extend(std::iter::repeat_n(b'N', 100_000));
    bytes.extend_from_slice(b"lq\x00");
    for _ in 0..10_000 {
        bytes.extend_from_slice(b"0cbuiltins\nlist\nh\x00\x85R");
    }
    bytes.push(b'.');
    assert!(matches!(of(&bytes).unwrap_err().why, Why::Large));
}

#[test]
fn what_contains_itself_is_read() {
    let (heap, value) = of(b"]q\x00h\x00a.").unwrap();
    assert_eq!(heap.items(value), [value]);
    assert!(words(&heap, value, 0).contains("..."));
}

#[test]
fn keys_that_come_again_and_dictionaries_that_grow() {
    let (heap, value) = of(b"}(S'a'\nI1\nuS'b'\nI2\nsS'a'\nI3\ns.").unwrap();
    assert_eq!(heap.field(value, "a").and_then(|value| heap.as_int(value)), Some(3));
    assert_eq!(heap.field(value, "b").and_then(|value| heap.as_int(value)), Some(2));
    assert_eq!(heap.field(value, "c"), None);
}

#[test]
fn whole_numbers_of_any_length() {
    let number = |bytes: &[u8]| of(bytes).map(|(heap, value)| heap.as_int(value)).unwrap();
    assert_eq!(number(b"\x8a\x00."), Some(0));
    assert_eq!(number(b"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."), Some(i128::from(u64::MAX)));
    assert_eq!(
        number(b"\x8a\x11\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01."),
        Some(i128::MAX)
    );
    assert_eq!(number(b"\x8a\x02\x00\xff."), Some(-256));
    for value in [i128::from(i64::MIN), i128::from(i64::MAX), -(1 << 59), (1 << 59) - 1, 1 << 59] {
        let bytes = [b"\x8a\x10".as_slice(), &value.to_le_bytes(), b"."].concat();
        assert_eq!(number(&bytes), Some(value));
    }
}

proptest! {
    #[test]
    fn any_bytes_give_a_value_or_a_line(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = of(&bytes) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    #[test]
    fn opcodes_in_any_order(
        picks in prop::collection::vec(
            prop::sample::select(&b"(.01NaeslutdR}])\x85\x86\x87\x88\x8f\x90\x91\x942bo\x81\x92"[..]), 0..300)
    ) {
        if let Ok((heap, value)) = of(&picks) {
            let _ = words(&heap, value, 12);
        }
    }

    #[test]
    fn flipped_bytes(protocol in 0..6usize, flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = BY_PROTOCOL[protocol].to_vec();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok((heap, value)) = of(&bytes) {
            let _ = words(&heap, value, 12);
        }
    }
}

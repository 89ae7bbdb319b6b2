//! The encoding of rows of a client's disk: 1 Secret (32 bytes); 2 Base (`base` vec, `in_base` u, `chain_k` u, digest 32 bytes);
//! 3 Entry (body); 4 Drop (k u); 5 Regions (K u); 6 Value (key, the kind of update and its fields, with times that are differences
//! to 0); 7 Forget (key); 8 `ForgetAll`.

use super::primitive::{Malformed, Reader, put_base, put_bytes, put_varint};
use super::{Body, Chain, Change, Secret};
use crate::durable::{DurableBase, Row};

pub(crate) fn encode_row(row: &Row) -> Vec<u8> {
    let mut out = Vec::new();
    match row {
        Row::Secret(secret) => {
            out.push(1);
            out.extend_from_slice(&secret.0);
        }
        Row::Base(base) => {
            out.push(2);
            put_base(&mut out, &base.base);
            put_varint(&mut out, base.in_base);
            put_varint(&mut out, base.chain_k);
            out.extend_from_slice(&base.chain.0);
        }
        Row::Entry(body) => {
            out.push(3);
            out.extend(body.encode());
        }
        Row::Drop(k) => {
            out.push(4);
            put_varint(&mut out, *k);
        }
        Row::Regions(regions) => {
            out.push(5);
            put_varint(&mut out, *regions);
        }
        Row::Value(key, change) => {
            out.push(6);
            put_bytes(&mut out, key);
            change.put(&mut out, 0);
        }
        Row::Forget(key) => {
            out.push(7);
            put_bytes(&mut out, key);
        }
        Row::ForgetAll => out.push(8),
    }
    out
}

pub(crate) fn decode_row(bytes: &[u8]) -> Result<Row, Malformed> {
    let mut reader = Reader::of_row(bytes);
    let row = match reader.byte()? {
        1 => Row::Secret(Secret(reader.array()?)),
        2 => Row::Base(DurableBase {
            base: reader.base()?,
            in_base: reader.varint()?,
            chain_k: reader.varint()?,
            chain: Chain(reader.array()?),
        }),
        3 => return Ok(Row::Entry(Body::decode(reader.rest())?)),
        4 => Row::Drop(reader.varint()?),
        5 => Row::Regions(reader.varint()?),
        6 => Row::Value(reader.key()?, Change::read(&mut reader, 0)?),
        7 => Row::Forget(reader.key()?),
        8 => Row::ForgetAll,
        _ => return Err(Malformed("an unknown kind of row")),
    };
    reader.end()?;
    Ok(row)
}

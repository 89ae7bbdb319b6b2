//! Values as text.

use super::super::{Fault, real};
use super::{Config, Invalid};
use crate::number::shown;
use mlua::{Table, Value};

pub(super) fn run(value: &Value, config: Config) -> Result<Vec<u8>, Fault> {
    let mut writer = Writer { out: Vec::new(), config };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    config: Config,
}

fn refused(value: &Value, why: &str) -> Fault {
    let name = match value {
        Value::Integer(_) => "number",
        Value::LightUserData(_) => "userdata",
        other => other.type_name(),
    };
    Fault::text(format!("Cannot serialise {name}: {why}"))
}

impl Writer {
    fn value(&mut self, value: &Value, depth: u32) -> Result<(), Fault> {
        match value {
            Value::String(text) => self.string(&text.as_bytes()),
            Value::Boolean(yes) => self.out.extend_from_slice(if *yes { b"true" } else { b"false" }),
            Value::Nil => self.out.extend_from_slice(b"null"),
            Value::LightUserData(pointer) if pointer.0.is_null() => self.out.extend_from_slice(b"null"),
            Value::Table(table) => {
                let depth = depth + 1;
                if depth > self.config.encode_depth {
                    return Err(Fault::text(format!("Cannot serialise, excessive nesting ({depth})")));
                }
                self.table(value, table, depth)?;
            }
            Value::Number(_) | Value::Integer(_) => self.number(value)?,
            other => return Err(refused(other, "type not supported")),
        }
        Ok(())
    }

    fn number(&mut self, value: &Value) -> Result<(), Fault> {
        let number = real(value).unwrap_or_default();
        if !number.is_finite() {
            match self.config.encode_invalid {
                Invalid::Refused => return Err(refused(value, "must not be NaN or Inf")),
                Invalid::Null => {
                    self.out.extend_from_slice(b"null");
                    return Ok(());
                }
                Invalid::Written => {}
            }
        }
        self.out.extend_from_slice(shown(number, self.config.digits as usize).as_bytes());
        Ok(())
    }

    /// How long an array this is; none if it is none.
    fn array_len(&self, value: &Value, table: &Table) -> Result<Option<usize>, Fault> {
        let (mut highest, mut count) = (0.0, 0);
        for pair in table.pairs::<Value, Value>() {
            match real(&pair?.0) {
                Some(key) if key >= 1.0 && key.fract() == 0.0 => {
                    highest = f64::max(highest, key);
                    count += 1;
                }
                _ => return Ok(None),
            }
        }
        let Config { sparse_ratio, sparse_safe, .. } = self.config;
        let most = f64::from(count) * f64::from(sparse_ratio);
        if sparse_ratio > 0 && highest > most && highest > f64::from(sparse_safe) {
            return match self.config.sparse_as_object {
                true => Ok(None),
                false => Err(refused(value, "excessively sparse array")),
            };
        }
        Ok((count > 0).then_some(highest as usize))
    }

    fn table(&mut self, value: &Value, table: &Table, depth: u32) -> Result<(), Fault> {
        if let Some(len) = self.array_len(value, table)? {
            self.out.push(b'[');
            for at in 1..=len {
                if at > 1 {
                    self.out.push(b',');
                }
                self.value(&table.raw_get(at)?, depth)?;
            }
            self.out.push(b']');
            return Ok(());
        }
        self.out.push(b'{');
        for (nth, pair) in table.pairs::<Value, Value>().enumerate() {
            let (key, value) = pair?;
            if nth > 0 {
                self.out.push(b',');
            }
            match &key {
                Value::String(text) => self.string(&text.as_bytes()),
                Value::Number(_) | Value::Integer(_) => {
                    self.out.push(b'"');
                    self.number(&key)?;
                    self.out.push(b'"');
                }
                other => return Err(refused(other, "table key must be a number or string")),
            }
            self.out.push(b':');
            self.value(&value, depth)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn string(&mut self, text: &[u8]) {
        self.out.push(b'"');
        for byte in text {
            let short = match byte {
                b'"' | b'\\' | b'/' => *byte,
                0x08 => b'b',
                b'\t' => b't',
                b'\n' => b'n',
                0x0c => b'f',
                b'\r' => b'r',
                0..0x20 | 0x7f => {
                    self.out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                    continue;
                }
                _ => {
                    self.out.push(*byte);
                    continue;
                }
            };
            self.out.extend([b'\\', short]);
        }
        self.out.push(b'"');
    }
}

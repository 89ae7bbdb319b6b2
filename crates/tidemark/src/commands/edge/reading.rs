//! Commands that read.

use super::lists::range;
use super::session::{Session, print_line};
use super::show;
use anyhow::bail;
use bytes::Bytes;
use serde_json::{Value as Json, json};
use tidemark_edge::frames::Value;

impl Session {
    pub(super) async fn get(&mut self, keys: &[Bytes]) -> anyhow::Result<()> {
        for (key, value) in keys.iter().zip(self.values(keys).await?) {
            if self.json {
                print_line(show::json_value(key, &value).to_string().as_bytes());
            } else if matches!(value, Value::Map(_) | Value::Set(_) | Value::List(_)) {
                let key = String::from_utf8_lossy(key);
                bail!("{key} is {}: see hgetall, smembers and lrange", show::kind(&value));
            } else {
                show::lines(&value).iter().for_each(|line| print_line(line));
            }
        }
        Ok(())
    }

    /// The only value of these keys.
    async fn value(&mut self, key: &Bytes, wanted: &str) -> anyhow::Result<Value> {
        let value = self.values(std::slice::from_ref(key)).await?.pop().unwrap_or_default();
        let is = show::kind(&value);
        if is != wanted && value != Value::Absent {
            bail!("{} is {is}, not {wanted}", String::from_utf8_lossy(key));
        }
        Ok(value)
    }

    pub(super) async fn hget(&mut self, key: Bytes, field: Bytes) -> anyhow::Result<()> {
        let value = self.value(&key, "a hash").await?;
        let found = if let Value::Map(fields) = &value { fields.get(&field) } else { None };
        if self.json {
            let found = found.map_or(Json::Null, |written| show::json_bytes(&written.bytes));
            let (key, field) = (show::json_bytes(&key), show::json_bytes(&field));
            print_line(json!({ "key": key, "field": field, "value": found }).to_string().as_bytes());
        } else {
            print_line(&found.map_or_else(show::nothing, |written| written.bytes.clone()));
        }
        Ok(())
    }

    pub(super) async fn lrange(&mut self, key: Bytes, start: i64, stop: i64) -> anyhow::Result<()> {
        let value = self.value(&key, "a list").await?;
        let all = if let Value::List(elements) = value { elements.into_iter().collect() } else { Vec::new() };
        let some = range(all, start, stop);
        if self.json {
            let value = if some.is_empty() { Value::Absent } else { Value::List(some.into_iter().collect()) };
            print_line(show::json_value(&key, &value).to_string().as_bytes());
        } else {
            some.iter().for_each(|(_, written)| print_line(&written.bytes));
        }
        Ok(())
    }

    pub(super) async fn all_of(&mut self, key: Bytes, wanted: &str) -> anyhow::Result<()> {
        let value = self.value(&key, wanted).await?;
        if self.json {
            print_line(show::json_value(&key, &value).to_string().as_bytes());
        } else if value != Value::Absent {
            show::lines(&value).iter().for_each(|line| print_line(line));
        }
        Ok(())
    }
}

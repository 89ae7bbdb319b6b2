//! Addresses of gateways.

use std::fmt;
use std::str::FromStr;

/// Where a gateway listens, as `ws://HOST:PORT/edge`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `HOST:PORT`
    pub(crate) authority: String,
    path: String,
}

/// A text that names no gateway.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no address of a gateway: {why}")]
pub struct BadEndpoint {
    text: String,
    why: &'static str,
}

impl FromStr for Endpoint {
    type Err = BadEndpoint;

    /// `ws://` and the path `/edge` may be left out.
    fn from_str(text: &str) -> Result<Self, BadEndpoint> {
        let bad = |why| BadEndpoint { text: text.to_string(), why };
        if text.starts_with("wss://") {
            return Err(bad("connections are not encrypted yet: write ws://, to a tunnel that ends here"));
        }
        let rest = text.strip_prefix("ws://").unwrap_or(text);
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let port = authority.rsplit_once(':').map(|(host, port)| (!host.is_empty(), port.parse::<u16>()));
        let is_clean = rest.bytes().all(|byte| byte.is_ascii_graphic() && !b"@?#".contains(&byte));
        if !matches!(port, Some((true, Ok(1..)))) || !is_clean {
            return Err(bad("write ws://HOST:PORT/edge, such as ws://127.0.0.1:9001/edge"));
        }
        let path = if matches!(path, "" | "/") { "/edge" } else { path };
        Ok(Self { authority: authority.to_string(), path: path.to_string() })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ws://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_url_or_the_part_that_differs() {
        for text in ["ws://127.0.0.1:9001/edge", "ws://127.0.0.1:9001", "127.0.0.1:9001/", "127.0.0.1:9001"] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), "ws://127.0.0.1:9001/edge", "{text}");
        }
        assert_eq!("[::1]:9001/other".parse::<Endpoint>().unwrap().to_string(), "ws://[::1]:9001/other");
        for text in ["", "localhost", ":9001", "host:0", "host:99999", "http://a:1", "a b:1", "wss://a:1"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}

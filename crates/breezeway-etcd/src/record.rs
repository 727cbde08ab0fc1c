//! The record of an instance: a JSON object, as in docs/instances.md.

use breezeway_rpc::ThriftFraming;
use breezeway_rpc::instances::Instance;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Record {
    /// All its places, as one address.
    address: String,
    #[serde(default = "one")]
    weight: u32,
    /// Locality of its host and of the folder of its sockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    locality: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    framing: Option<Framing>,
}

/// Framing of messages to a server that opens no sessions. A record with an unknown word is
/// refused, as its server would not understand the calls.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Framing {
    TtHeader,
    Framed,
    Unframed,
}

impl From<ThriftFraming> for Framing {
    fn from(framing: ThriftFraming) -> Self {
        match framing {
            ThriftFraming::TtHeader => Self::TtHeader,
            ThriftFraming::Framed => Self::Framed,
            ThriftFraming::Unframed => Self::Unframed,
        }
    }
}

impl From<Framing> for ThriftFraming {
    fn from(framing: Framing) -> Self {
        match framing {
            Framing::TtHeader => Self::TtHeader,
            Framing::Framed => Self::Framed,
            Framing::Unframed => Self::Unframed,
        }
    }
}

fn one() -> u32 {
    1
}

pub(crate) fn write(instance: &Instance) -> Vec<u8> {
    let record = Record {
        address: instance.address().to_string(),
        weight: instance.weight(),
        locality: instance.locality().map(ToString::to_string),
        framing: instance.framing().map(Framing::from),
    };
    serde_json::to_vec(&record).expect("texts and a number")
}

/// Returns the instance of this name, or the fault of its record. Unknown fields are ignored, so
/// that later versions may add some.
pub(crate) fn read(name: &str, value: &[u8]) -> Result<Instance, String> {
    let record: Record = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let address = record.address.parse().map_err(|error| format!("address: {error}"))?;
    let mut instance = Instance::new(name, address).with_weight(record.weight);
    if let Some(framing) = record.framing {
        instance = instance.with_framing(framing.into());
    }
    let Some(locality) = record.locality else { return Ok(instance) };
    let locality = locality.parse().map_err(|error| format!("locality: {error}"))?;
    Ok(instance.with_locality(locality))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        r#"{"address":"shm:/run/a/s,tcp:10.0.0.7:1","weight":3,"locality":"b00t/1/2"}"#;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let instance = read("a", WHOLE.as_bytes()).unwrap();
        assert_eq!(instance.weight(), 3);
        assert_eq!(instance.locality().unwrap().to_string(), "b00t/1/2");
        assert_eq!(write(&instance), WHOLE.as_bytes());
        let bare = Instance::new("b", "tcp:10.0.0.7:1".parse().unwrap());
        assert_eq!(read("b", &write(&bare)), Ok(bare));
    }

    #[test]
    fn each_framing_is_read_as_it_was_written() {
        for (framing, word) in [
            (ThriftFraming::TtHeader, "ttheader"),
            (ThriftFraming::Framed, "framed"),
            (ThriftFraming::Unframed, "unframed"),
        ] {
            let address = "tcp:10.0.0.7:1".parse().unwrap();
            let instance = Instance::new("a", address).with_framing(framing);
            let written = write(&instance);
            let said = format!(r#""framing":"{word}""#);
            assert!(String::from_utf8_lossy(&written).contains(&said), "{said}");
            assert_eq!(read("a", &written), Ok(instance));
        }
    }

    #[test]
    fn missing_fields_get_defaults_and_unknown_ones_are_ignored() {
        let instance = read("a", br#"{"address":"tcp:10.0.0.7:1","zone":"b"}"#).unwrap();
        assert_eq!(instance, Instance::new("a", "tcp:10.0.0.7:1".parse().unwrap()));
    }

    #[test]
    fn invalid_record_names_the_reason() {
        let wrong = |value: &str| read("a", value.as_bytes()).unwrap_err();
        assert!(wrong("tcp:10.0.0.7:1").contains("expected"), "{}", wrong("tcp:10.0.0.7:1"));
        assert!(wrong(r#"{"weight":1}"#).contains("missing field `address`"));
        assert!(wrong(r#"{"address":"x:y"}"#).starts_with("address: "));
        assert!(wrong(r#"{"address":"tcp:a:1","weight":-1}"#).contains("u32"));
        assert!(wrong(r#"{"address":"tcp:a:1","framing":"odd"}"#).contains("unknown variant"));
        let locality = r#"{"address":"tcp:a:1","locality":"here"}"#;
        assert!(wrong(locality).starts_with("locality: "));
    }
}

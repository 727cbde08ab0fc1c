//! Records of TLS 1.3 by hand (RFC 8446, section 5.2), behind a handshake that rustls has made.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::{ConnectionTrafficSecrets, ExtractedSecrets};

const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const NEW_SESSION_TICKET: u8 = 4;

/// Encrypts records of one direction, which rustls itself writes at no time, or at another one.
pub struct Records {
    key: LessSafeKey,
    iv: [u8; 12],
    /// Sequence number of the next record.
    sequence: u64,
}

impl Records {
    /// Continues from the state in which a connection of rustls's has stopped writing.
    ///
    /// # Panics
    ///
    /// If it has not agreed on AES-256-GCM.
    #[must_use]
    pub fn new(secrets: ExtractedSecrets) -> Self {
        let (sequence, ConnectionTrafficSecrets::Aes256Gcm { key, iv }) = secrets.tx else {
            panic!("another cipher");
        };
        let key = UnboundKey::new(&AES_256_GCM, key.as_ref()).expect("a key of its length");
        let iv = iv.as_ref().try_into().expect("12 bytes");
        Self { key: LessSafeKey::new(key), iv, sequence }
    }

    /// The next record, with these bytes of the application's in it: rustls writes none that are
    /// empty.
    ///
    /// # Panics
    ///
    /// If they are more than a record can hold.
    pub fn data(&mut self, plaintext: &[u8]) -> Vec<u8> {
        self.encrypt(APPLICATION_DATA, plaintext)
    }

    /// Returns the next record, with a ticket of a server in it (RFC 8446, section 4.6.1), which
    /// rustls writes only after its handshake.
    pub fn ticket(&mut self) -> Vec<u8> {
        const TICKET: [u8; 100] = [7; 100];
        // Lifetime, the addition to its age, and a nonce of no bytes.
        let mut body = vec![0; 4 + 4 + 1];
        body.extend([0, TICKET.len() as u8]);
        body.extend(TICKET);
        // No extensions.
        body.extend([0, 0]);
        let head = [NEW_SESSION_TICKET, 0, 0, body.len() as u8];
        self.encrypt(HANDSHAKE, &[&head[..], &body].concat())
    }

    fn encrypt(&mut self, content: u8, plaintext: &[u8]) -> Vec<u8> {
        let mut body = [plaintext, &[content]].concat();
        let length = u16::try_from(body.len() + AES_256_GCM.tag_len()).expect("one record");
        let [high, low] = length.to_be_bytes();
        let head = [APPLICATION_DATA, 3, 3, high, low];
        let mut nonce = self.iv;
        for (byte, number) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= number;
        }
        self.sequence += 1;
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed = self.key.seal_in_place_append_tag(nonce, Aad::from(head), &mut body);
        sealed.expect("it is short enough");
        [&head[..], &body].concat()
    }
}

//! Secrets at rest. With a key they are sealed (XChaCha20-Poly1305), bound to what they belong to, so
//! that a sealed secret put in another's place does not open. Without one they lie as they are.

use crate::{Error, Result, tx::random};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use std::fmt;

/// What a sealed value begins with. No secret and no JSON does.
const SEALED: u8 = 1;
const NONCE: usize = 24;

/// The key that secrets are sealed with. `Debug` never prints it.
#[derive(Clone)]
pub struct SealKey([u8; 32]);

impl SealKey {
    /// A key of these bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(…)")
    }
}

/// Seals and opens, with a key or without.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sealer(Option<SealKey>);

impl Sealer {
    pub(crate) fn new(key: Option<SealKey>) -> Self {
        Self(key)
    }

    pub(crate) fn has_key(&self) -> bool {
        self.0.is_some()
    }

    /// The bytes to be stored for `plain`, which belongs to `owner`.
    pub(crate) fn seal(&self, owner: &[u8], plain: &[u8]) -> Result<Vec<u8>> {
        let Some(SealKey(key)) = &self.0 else { return Ok(plain.to_vec()) };
        let nonce: [u8; NONCE] = random();
        let sealed = XChaCha20Poly1305::new(key.into())
            .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: owner })
            .map_err(|_| Error::Sealed)?;
        Ok([&[SEALED][..], &nonce, &sealed].concat())
    }

    /// What was sealed for `owner`; of what lies open, itself.
    pub(crate) fn open(&self, owner: &[u8], stored: &[u8]) -> Result<Vec<u8>> {
        let Some((&SEALED, sealed)) = stored.split_first() else { return Ok(stored.to_vec()) };
        let (Some(SealKey(key)), Some((nonce, sealed))) =
            (&self.0, sealed.split_first_chunk::<NONCE>())
        else {
            return Err(Error::Sealed);
        };
        XChaCha20Poly1305::new(key.into())
            .decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: owner })
            .map_err(|_| Error::Sealed)
    }
}

/// Whether these bytes are sealed.
pub(crate) fn is_sealed(stored: &[u8]) -> bool {
    stored.first() == Some(&SEALED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_its_key_for_its_owner_alone() {
        let sealer = Sealer::new(Some(SealKey::new([1; 32])));
        let other = Sealer::new(Some(SealKey::new([2; 32])));
        let sealed = sealer.seal(b"owner", b"a secret").unwrap();
        assert!(is_sealed(&sealed));
        assert!(!sealed.windows(8).any(|part| part == b"a secret"));
        assert_ne!(sealer.seal(b"owner", b"a secret").unwrap(), sealed);
        assert_eq!(sealer.open(b"owner", &sealed).unwrap(), b"a secret");
        for wrong in [
            sealer.open(b"another", &sealed),
            other.open(b"owner", &sealed),
            Sealer::default().open(b"owner", &sealed),
            sealer.open(b"owner", &sealed[..sealed.len() - 1]),
            sealer.open(b"owner", &sealed[..9]),
        ] {
            assert!(matches!(wrong, Err(Error::Sealed)));
        }
    }

    #[test]
    fn without_a_key_all_lies_open_and_stays_readable_when_there_is_one() {
        let open = Sealer::default();
        let stored = open.seal(b"owner", b"whsec_x").unwrap();
        assert_eq!(stored, b"whsec_x");
        let sealer = Sealer::new(Some(SealKey::new([1; 32])));
        assert_eq!(sealer.open(b"owner", &stored).unwrap(), b"whsec_x");
    }
}

//! Encryption of secrets at rest. With a key they are encrypted (XChaCha20-Poly1305) and bound to their
//! owner, so that a ciphertext copied to another owner does not decrypt. Without a key they are stored as
//! they are.

use crate::{Error, Result, engine::random};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use std::fmt;

/// The first byte of an encrypted value. No secret and no JSON begins with it.
const ENCRYPTED: u8 = 1;
const NONCE: usize = 24;

/// The key that encrypts secrets. `Debug` never prints it.
#[derive(Clone)]
pub struct EncryptionKey([u8; 32]);

impl EncryptionKey {
    /// The key of these bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(…)")
    }
}

/// Encrypts and decrypts, with a key or without.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretCipher(Option<EncryptionKey>);

impl SecretCipher {
    pub(crate) fn new(key: Option<EncryptionKey>) -> Self {
        Self(key)
    }

    pub(crate) fn has_key(&self) -> bool {
        self.0.is_some()
    }

    /// The bytes to store for `plain`, which belongs to `owner`.
    pub(crate) fn encrypt(&self, owner: &[u8], plain: &[u8]) -> Result<Vec<u8>> {
        let Some(EncryptionKey(key)) = &self.0 else { return Ok(plain.to_vec()) };
        let nonce: [u8; NONCE] = random();
        let ciphertext = XChaCha20Poly1305::new(key.into())
            .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: owner })
            .map_err(|_| Error::Undecryptable)?;
        Ok([&[ENCRYPTED][..], &nonce, &ciphertext].concat())
    }

    /// The plain bytes of what is stored for `owner`, which may be plain already.
    pub(crate) fn decrypt(&self, owner: &[u8], stored: &[u8]) -> Result<Vec<u8>> {
        let Some((&ENCRYPTED, ciphertext)) = stored.split_first() else {
            return Ok(stored.to_vec());
        };
        let (Some(EncryptionKey(key)), Some((nonce, ciphertext))) =
            (&self.0, ciphertext.split_first_chunk::<NONCE>())
        else {
            return Err(Error::Undecryptable);
        };
        XChaCha20Poly1305::new(key.into())
            .decrypt(&XNonce::from(*nonce), Payload { msg: ciphertext, aad: owner })
            .map_err(|_| Error::Undecryptable)
    }
}

/// Whether these bytes are encrypted.
pub(crate) fn is_encrypted(stored: &[u8]) -> bool {
    stored.first() == Some(&ENCRYPTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encrypted_opens_with_its_key_for_its_owner_alone() {
        let cipher = SecretCipher::new(Some(EncryptionKey::new([1; 32])));
        let other = SecretCipher::new(Some(EncryptionKey::new([2; 32])));
        let ciphertext = cipher.encrypt(b"owner", b"a secret").unwrap();
        assert!(is_encrypted(&ciphertext));
        assert!(!ciphertext.windows(8).any(|part| part == b"a secret"));
        assert_ne!(cipher.encrypt(b"owner", b"a secret").unwrap(), ciphertext);
        assert_eq!(cipher.decrypt(b"owner", &ciphertext).unwrap(), b"a secret");
        for wrong in [
            cipher.decrypt(b"another", &ciphertext),
            other.decrypt(b"owner", &ciphertext),
            SecretCipher::default().decrypt(b"owner", &ciphertext),
            cipher.decrypt(b"owner", &ciphertext[..ciphertext.len() - 1]),
            cipher.decrypt(b"owner", &ciphertext[..9]),
        ] {
            assert!(matches!(wrong, Err(Error::Undecryptable)));
        }
    }

    #[test]
    fn plain_secret_stays_readable_after_a_key_is_set() {
        let plain = SecretCipher::default();
        let stored = plain.encrypt(b"owner", b"whsec_x").unwrap();
        assert_eq!(stored, b"whsec_x");
        let cipher = SecretCipher::new(Some(EncryptionKey::new([1; 32])));
        assert_eq!(cipher.decrypt(b"owner", &stored).unwrap(), b"whsec_x");
    }
}

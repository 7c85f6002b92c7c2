//! Encryption of secrets at rest. With a key they are encrypted (XChaCha20-Poly1305) and bound to their
//! owner, so that a ciphertext copied to another owner does not decrypt. Without a key they are stored as
//! they are. Previous keys only decrypt, so that the key can be changed.

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

/// The keys of a program.
#[derive(Clone, Debug, Default)]
pub struct EncryptionKeys {
    /// The key that encrypts; without one, secrets are stored as they are.
    pub current: Option<EncryptionKey>,
    /// Keys that secrets may still be encrypted with.
    pub previous: Vec<EncryptionKey>,
}

/// Encrypts and decrypts, with a key or without.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretCipher(EncryptionKeys);

impl SecretCipher {
    pub(crate) fn new(keys: EncryptionKeys) -> Self {
        Self(keys)
    }

    pub(crate) fn has_key(&self) -> bool {
        self.0.current.is_some()
    }

    /// The bytes to store for `plain`, which belongs to `owner`.
    pub(crate) fn encrypt(&self, owner: &[u8], plain: &[u8]) -> Result<Vec<u8>> {
        let Some(EncryptionKey(key)) = &self.0.current else { return Ok(plain.to_vec()) };
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
        let Some((nonce, ciphertext)) = ciphertext.split_first_chunk::<NONCE>() else {
            return Err(Error::Undecryptable);
        };
        let decrypt = |EncryptionKey(key): &EncryptionKey| {
            let payload = Payload { msg: ciphertext, aad: owner };
            XChaCha20Poly1305::new(key.into()).decrypt(&XNonce::from(*nonce), payload).ok()
        };
        let mut keys = self.0.current.iter().chain(&self.0.previous);
        keys.find_map(decrypt).ok_or(Error::Undecryptable)
    }
}

/// The secrets that a change of the encryption applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretsToEncrypt {
    /// Those that are stored as they are.
    Plain,
    /// All, because the key changes.
    All,
}

/// Whether these bytes are encrypted.
pub(crate) fn is_encrypted(stored: &[u8]) -> bool {
    stored.first() == Some(&ENCRYPTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cipher(current: u8, previous: &[u8]) -> SecretCipher {
        let key = |byte: u8| EncryptionKey::new([byte; 32]);
        let previous = previous.iter().map(|byte| key(*byte)).collect();
        SecretCipher::new(EncryptionKeys { current: Some(key(current)), previous })
    }

    #[test]
    fn what_is_encrypted_opens_with_its_key_for_its_owner_alone() {
        let (cipher, other) = (cipher(1, &[]), cipher(2, &[]));
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
        assert_eq!(cipher(1, &[]).decrypt(b"owner", &stored).unwrap(), b"whsec_x");
    }

    #[test]
    fn previous_key_decrypts_but_does_not_encrypt() {
        let stored = cipher(1, &[]).encrypt(b"owner", b"whsec_x").unwrap();
        let changed = cipher(2, &[1]);
        assert_eq!(changed.decrypt(b"owner", &stored).unwrap(), b"whsec_x");
        let stored = changed.encrypt(b"owner", b"whsec_x").unwrap();
        assert!(cipher(1, &[]).decrypt(b"owner", &stored).is_err());
        assert_eq!(cipher(2, &[]).decrypt(b"owner", &stored).unwrap(), b"whsec_x");
    }
}

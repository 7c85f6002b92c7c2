//! Counts the features of a tile, also of a peer's that is not strictly valid.

/// The number of features: the fields 2 in the tile's fields 3.
pub(crate) fn features(tile: &[u8]) -> usize {
    fields(tile)
        .filter(|(field, _)| *field == 3)
        .map(|(_, layer)| fields(layer).filter(|(field, _)| *field == 2).count())
        .sum()
}

/// The fields of a protobuf message with their numbers; those without a length have no bytes.
fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    fn varint(message: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = message.split_first()?;
            *message = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(value)
    }
    std::iter::from_fn(move || {
        let key = varint(&mut message)?;
        let length = match key & 7 {
            0 => varint(&mut message).map(|_| 0)?,
            1 => 8,
            2 => usize::try_from(varint(&mut message)?).ok()?,
            _ => 4,
        };
        let (bytes, rest) = message.split_at_checked(length)?;
        message = rest;
        Some((key >> 3, bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_every_layer_are_counted() {
        // A layer with a name, two features and an extent; then one with a single feature.
        let tile = [
            0x1a, 12, 0x0a, 1, b'a', 0x12, 2, 0x18, 1, 0x12, 0, 0x28, 0x80, 0x20, //
            0x1a, 2, 0x12, 0,
        ];
        assert_eq!(features(&tile), 3);
        assert_eq!(features(&tile[..13]), 0, "a truncated layer does not count");
    }
}

//! The encodings of attributes.

use encoding_rs::Encoding;

/// How text in a `.dbf` is encoded.
#[derive(Clone, Copy)]
pub(super) enum CodePage {
    Known(&'static Encoding),
    /// A code page of DOS: the characters from 128 on.
    Dos(&'static str),
    /// Nothing names one: UTF-8 if the text is valid, otherwise Windows-1252.
    Unknown,
}

const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const CP850: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";
const CP852: &str = "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}";

impl CodePage {
    /// The encoding that a `.cpg` file names, or else the language driver of the `.dbf`.
    pub(super) fn find(cpg: Option<&str>, language_driver: u8) -> Self {
        let named = cpg.map(str::trim).filter(|name| !name.is_empty()).and_then(Self::by_name);
        named.unwrap_or_else(|| Self::by_language_driver(language_driver))
    }

    fn by_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let digits: String = name.chars().filter(char::is_ascii_digit).collect();
        let by_number = match digits.as_str() {
            "65001" => Some("utf-8"),
            "932" => Some("shift_jis"),
            "936" => Some("gbk"),
            "949" => Some("euc-kr"),
            "950" => Some("big5"),
            "866" => Some("ibm866"),
            _ => None,
        };
        match digits.as_str() {
            "437" => return Some(Self::Dos(CP437)),
            "850" => return Some(Self::Dos(CP850)),
            "852" => return Some(Self::Dos(CP852)),
            _ => {}
        }
        // ISO 8859 is written in many ways, such as 88591 and ISO88591.
        let iso = digits.strip_prefix("8859").filter(|part| !part.is_empty());
        let label = match (by_number, iso) {
            (Some(label), _) => label.to_owned(),
            (None, Some(part)) => format!("iso-8859-{part}"),
            (None, None) if (1250..=1258).contains(&digits.parse().unwrap_or(0)) => {
                format!("windows-{digits}")
            }
            (None, None) => name,
        };
        Encoding::for_label(label.as_bytes()).map(Self::Known)
    }

    fn by_language_driver(code: u8) -> Self {
        let label = match code {
            0x01 | 0x09 | 0x0B | 0x0D | 0x0F | 0x11 | 0x15 | 0x18 | 0x19 | 0x1B => {
                return Self::Dos(CP437);
            }
            0x02 | 0x08 | 0x0A | 0x0E | 0x10 | 0x12 | 0x14 | 0x16 | 0x1A | 0x1D | 0x25 | 0x37 => {
                return Self::Dos(CP850);
            }
            0x1F | 0x22 | 0x23 | 0x40 | 0x64 | 0x87 => return Self::Dos(CP852),
            0x03 | 0x57 | 0x58 | 0x59 => "windows-1252",
            0x13 | 0x7B => "shift_jis",
            0x26 | 0x65 => "ibm866",
            0x4D | 0x7A => "gbk",
            0x4E | 0x79 => "euc-kr",
            0x4F | 0x78 => "big5",
            0x50 | 0x7C => "windows-874",
            0x7D => "windows-1255",
            0x7E => "windows-1256",
            0xC8 => "windows-1250",
            0xC9 => "windows-1251",
            0xCA => "windows-1254",
            0xCB => "windows-1253",
            0xCC => "windows-1257",
            _ => return Self::Unknown,
        };
        Encoding::for_label(label.as_bytes()).map_or(Self::Unknown, Self::Known)
    }

    /// The text of these bytes; `None` if they are not valid. A character that was cut off at the end of a field
    /// is left out.
    pub(super) fn decode(self, bytes: &[u8]) -> Option<String> {
        match self {
            Self::Known(encoding) => (0..4).find_map(|cut| {
                let bytes = bytes.get(..bytes.len().checked_sub(cut)?)?;
                let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
                Some(text.into_owned())
            }),
            Self::Dos(upper) => {
                let letter = |byte: &u8| match byte {
                    0..128 => Some(char::from(*byte)),
                    _ => upper.chars().nth(usize::from(*byte - 128)),
                };
                bytes.iter().map(letter).collect()
            }
            Self::Unknown => match std::str::from_utf8(bytes) {
                Ok(text) => Some(text.to_owned()),
                Err(_) => Some(
                    encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
                ),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_language_drivers_are_known() {
        for (name, driver, bytes, text) in [
            (Some("UTF-8"), 0x57, &b"\xc3\xa9"[..], "é"),
            (Some("65001"), 0, b"\xc3\xa9", "é"),
            (Some("1252"), 0, b"\xe9\x80", "é€"),
            (Some("ANSI 1252"), 0, b"\xe9", "é"),
            (Some("ISO-8859-15"), 0, b"\xa4", "€"),
            (Some("88591"), 0, b"\xe9", "é"),
            (Some("CP850"), 0, b"\x82", "é"),
            (Some("ISO 8859-2"), 0, b"\xb1", "ą"),
            (None, 0x57, b"\xe9", "é"),
            (None, 0x02, b"\x82", "é"),
            (None, 0x01, b"\x82", "é"),
            (None, 0x64, b"\xa5", "ą"),
            (None, 0x65, b"\x80", "А"),
            (None, 0xC8, b"\xb9", "ą"),
            (None, 0, b"\xc3\xa9", "é"),
            (None, 0, b"\xe9", "é"),
        ] {
            assert_eq!(
                CodePage::find(name, driver).decode(bytes).as_deref(),
                Some(text),
                "{name:?} {driver}"
            );
        }
    }

    #[test]
    fn tables_have_all_characters() {
        for table in [CP437, CP850, CP852] {
            assert_eq!(table.chars().count(), 128);
        }
    }

    #[test]
    fn cut_character_is_left_out_and_invalid_text_is_rejected() {
        let utf8 = CodePage::find(Some("UTF-8"), 0);
        assert_eq!(utf8.decode(b"caf\xc3").as_deref(), Some("caf"));
        assert_eq!(utf8.decode(b"caf\xe9 noir"), None);
    }
}

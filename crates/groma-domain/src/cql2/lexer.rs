//! The tokens of CQL2 text.

use super::{ParseError, Place};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or keyword.
    Word(String),
    /// A name in double quotes, which is never a keyword.
    QuotedName(String),
    Text(String),
    Number(f64),
    /// A parenthesis, a comma or an operator.
    Symbol(&'static str),
    End,
}

/// Symbols; those that begin with another one come first.
const SYMBOLS: [&str; 10] = ["<>", "<=", ">=", "=", "<", ">", "(", ")", ",", "-"];

pub(super) struct Lexer<'a> {
    text: &'a str,
    /// The byte where the next token begins.
    at: usize,
}

pub(super) fn error(text: &str, at: usize, message: impl Into<String>) -> ParseError {
    let position = text.get(..at).unwrap_or(text).chars().count() + 1;
    ParseError { position: Place::Character(position), message: message.into() }
}

/// The tokens of a text with the bytes where they begin. The last one is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ParseError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next()?;
        let is_end = token.0 == Token::End;
        tokens.push(token);
        if is_end {
            return Ok(tokens);
        }
    }
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Result<(Token, usize), ParseError> {
        self.at = self.text.len() - self.rest().trim_start().len();
        let start = self.at;
        let Some(first) = self.rest().chars().next() else { return Ok((Token::End, start)) };
        let token = match first {
            '\'' => Token::Text(self.quoted('\'')?),
            '"' => Token::QuotedName(self.quoted('"')?),
            c if c.is_ascii_digit() || c == '.' => self.number()?,
            c if is_name_start(c) => {
                let rest = self.rest();
                let end = rest.find(|c| !is_name_part(c)).unwrap_or(rest.len());
                let word = rest[..end].to_owned();
                self.at += end;
                Token::Word(word)
            }
            _ => {
                let symbol = SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol));
                let unexpected = || error(self.text, start, format!("unexpected `{first}`"));
                let symbol = symbol.ok_or_else(unexpected)?;
                self.at += symbol.len();
                Token::Symbol(symbol)
            }
        };
        Ok((token, start))
    }

    /// Text in quotes. A quote inside is doubled, or has a backslash before it.
    fn quoted(&mut self, quote: char) -> Result<String, ParseError> {
        let start = self.at;
        let mut content = String::new();
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((index, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            if (c == quote || c == '\\') && next == Some(quote) {
                content.push(quote);
                chars.next();
            } else if c == quote {
                self.at += index + quote.len_utf8();
                return Ok(content);
            } else {
                content.push(c);
            }
        }
        Err(error(self.text, start, "the closing quote is missing"))
    }

    fn number(&mut self) -> Result<Token, ParseError> {
        let start = self.at;
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| {
            let rest = bytes.get(from..).unwrap_or_default();
            from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            end = digits(end + 1 + sign);
        }
        let number = self.rest()[..end].parse::<f64>().ok().filter(|number| number.is_finite());
        let is_followed_by_name = self.rest()[end..].starts_with(is_name_start);
        match number.filter(|_| !is_followed_by_name) {
            Some(number) => {
                self.at += end;
                Ok(Token::Number(number))
            }
            None => Err(error(self.text, start, "is not a number")),
        }
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | ':')
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':' | '.') || ('\u{300}'..='\u{36f}').contains(&c)
}

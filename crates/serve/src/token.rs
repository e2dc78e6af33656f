use std::fmt;
use std::str::FromStr;

/// A secret of 128 bits or more, in letters and digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// Where the system has no randomness.
    pub fn random() -> std::io::Result<Token> {
        Ok(Token(straddle::io::owned::Token::random()?.to_string()))
    }

    /// Compared in a time that says nothing of where they differ.
    pub(crate) fn is(&self, other: &str) -> bool {
        let (one, other) = (
            hmac_sha256::Hash::hash(self.0.as_bytes()),
            hmac_sha256::Hash::hash(other.as_bytes()),
        );
        one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }
}

impl FromStr for Token {
    type Err = String;

    fn from_str(text: &str) -> Result<Token, String> {
        let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric());
        if text.len() < 16 || !is_plain {
            return Err("expected at least 16 letters and digits".to_owned());
        }
        Ok(Token(text.to_owned()))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The secret itself is in no log.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

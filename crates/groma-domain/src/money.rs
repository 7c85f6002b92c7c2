//! Money as exact decimals, with the number of decimal places of the currency. Never floats.

use crate::Violation;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr};
use utoipa::ToSchema;

/// An ISO 4217 currency that has a minor unit (`EUR` 2, `JPY` 0, `KWD` 3).
#[derive(Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, pattern = "^[A-Z]{3}$", example = "EUR")]
pub struct Currency(iso_currency::Currency);

impl Currency {
    /// The euro, the default of a new workspace.
    pub const EUR: Self = Self(iso_currency::Currency::EUR);

    /// The number of decimal places of an amount.
    #[must_use]
    pub fn exponent(self) -> u32 {
        self.0.exponent().map_or(0, u32::from)
    }

    /// The three-letter code.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.0.code()
    }
}

impl FromStr for Currency {
    type Err = Violation;
    fn from_str(text: &str) -> Result<Self, Violation> {
        iso_currency::Currency::from_code(text)
            .filter(|currency| currency.exponent().is_some())
            .map(Self)
            .ok_or(Violation::NotCurrency)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        code.parse().map_err(serde::de::Error::custom)
    }
}

/// A decimal, serialized as a string. An amount of money has exactly the decimal places of its
/// currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(value_type = String, pattern = "^-?[0-9]+(\\.[0-9]+)?$", example = "1250.00")]
pub struct Amount(pub Decimal);

/// The maximum number of digits before the decimal point.
const MAX_DIGITS: u32 = 15;
/// 10¹⁵, the first number with too many digits.
const LIMIT: Decimal = Decimal::from_parts(2_764_472_320, 232_830, 0, false, 0);

impl Amount {
    /// Converts a number to an amount in `currency`. Rejects surplus decimal places.
    pub fn money(number: Decimal, currency: Currency) -> Result<Self, Violation> {
        let exponent = currency.exponent();
        let number = number.normalize();
        if number.scale() > exponent {
            return Err(match exponent {
                0 => Violation::NotWholeAmount { currency: currency.code() },
                _ => Violation::WrongDecimals { max: exponent, currency: currency.code() },
            });
        }
        Self::rescaled(number, exponent)
    }

    /// `quantity` × `unit`, rounded half to even to the currency's minor unit.
    pub fn product(quantity: Decimal, unit: Self, currency: Currency) -> Result<Self, Violation> {
        let exponent = currency.exponent();
        let product = quantity.checked_mul(unit.0).ok_or(TOO_LARGE)?;
        Self::rescaled(
            product.round_dp_with_strategy(exponent, RoundingStrategy::MidpointNearestEven),
            exponent,
        )
    }

    fn rescaled(mut number: Decimal, exponent: u32) -> Result<Self, Violation> {
        if number.abs() >= LIMIT {
            return Err(TOO_LARGE);
        }
        number.rescale(exponent);
        if number.is_zero() {
            number.set_sign_positive(true);
        }
        Ok(Self(number))
    }

    /// Zero in this currency.
    #[must_use]
    pub fn zero(currency: Currency) -> Self {
        Self(Decimal::new(0, currency.exponent()))
    }

    /// This amount as a percentage of `whole`, with two decimal places; `None` if `whole` is zero.
    #[must_use]
    pub fn percent_of(self, whole: Self) -> Option<Self> {
        let ratio = (self.0 * Decimal::ONE_HUNDRED).checked_div(whole.0)?;
        let mut percent = ratio.round_dp_with_strategy(2, RoundingStrategy::MidpointNearestEven);
        percent.rescale(2);
        Some(Self(percent))
    }
}

const TOO_LARGE: Violation = Violation::TooManyDigits { max: MAX_DIGITS };

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Decimal::from_str_exact(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(text: &str, code: &str) -> Result<String, Violation> {
        Amount::money(text.parse().unwrap(), code.parse().unwrap()).map(|amount| amount.to_string())
    }

    #[test]
    fn amount_has_the_decimal_places_of_its_currency() {
        assert_eq!(money("1250", "EUR"), Ok("1250.00".into()));
        assert_eq!(money("1250.500", "EUR"), Ok("1250.50".into()));
        assert_eq!(money("7", "KWD"), Ok("7.000".into()));
        assert_eq!(money("7", "JPY"), Ok("7".into()));
        assert_eq!(money("-0.00", "EUR"), Ok("0.00".into()));
        assert!(money("7.5", "JPY").is_err());
        assert!(money("0.001", "EUR").is_err());
        assert_eq!(money("999999999999999.99", "EUR"), Ok("999999999999999.99".into()));
        assert!(money("1000000000000000", "EUR").is_err());
        assert!(money("-1000000000000000", "EUR").is_err());
    }

    #[test]
    fn metals_and_unknown_codes_are_not_currencies() {
        assert!("XAU".parse::<Currency>().is_err());
        assert!("eur".parse::<Currency>().is_err());
        assert!("EURO".parse::<Currency>().is_err());
    }

    #[test]
    fn product_is_rounded_half_to_even() {
        let product = |quantity: &str, unit: &str| {
            let unit = Amount::money(unit.parse().unwrap(), Currency::EUR).unwrap();
            Amount::product(quantity.parse().unwrap(), unit, Currency::EUR).unwrap().to_string()
        };
        assert_eq!(product("0.5", "0.01"), "0.00");
        assert_eq!(product("1.5", "0.01"), "0.02");
        assert_eq!(product("2.5", "0.01"), "0.02");
        assert_eq!(product("3", "-19.99"), "-59.97");
    }

    #[test]
    fn percentage_has_two_decimal_places_and_is_none_of_zero() {
        let amount = |text: &str| Amount(text.parse().unwrap());
        assert_eq!(amount("1").percent_of(amount("3")).unwrap().to_string(), "33.33");
        assert_eq!(amount("150").percent_of(amount("100")).unwrap().to_string(), "150.00");
        assert_eq!(amount("1").percent_of(amount("0")), None);
    }
}

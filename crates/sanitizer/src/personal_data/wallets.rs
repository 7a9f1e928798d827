//! Addresses of Bitcoin wallets, by their checksums: `Base58Check`, and Bech32 of BIP 173 and 350.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::{CHECKED, personal};
use crate::Finding;
use crate::runs::runs;

/// The category of an address.
pub(super) const CATEGORY: &str = "crypto-wallet";

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BECH32: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Lengths of addresses, in characters: those in base 58, and all.
const BASE58_LENGTHS: Range<usize> = 26..36;
const LENGTHS: Range<usize> = 26..63;

/// Returns the addresses in a text.
pub(super) fn wallets(text: &str) -> impl Iterator<Item = Finding> + '_ {
    let is_wallet = |run: &Range<usize>| {
        let code = &text.as_bytes()[run.clone()];
        LENGTHS.contains(&code.len())
            && (matches!(code[0], b'1' | b'3') && is_base58_check(code) || is_bech32(code))
    };
    runs(text).filter(is_wallet).map(|span| personal(CATEGORY, &span, CHECKED))
}

/// Whether the code is a version, 20 bytes of a hash, and four of a checksum.
fn is_base58_check(code: &[u8]) -> bool {
    const LENGTH: usize = 25;
    if !BASE58_LENGTHS.contains(&code.len()) {
        return false;
    }
    let mut bytes = [0_u8; LENGTH];
    for byte in code {
        let Some(digit) = BASE58.iter().position(|known| known == byte) else { return false };
        let mut carry = digit;
        for place in bytes.iter_mut().rev() {
            carry += usize::from(*place) * BASE58.len();
            *place = u8::try_from(carry % 256).expect("a remainder of 256");
            carry /= 256;
        }
        if carry > 0 {
            return false;
        }
    }
    let (payload, checksum) = bytes.split_at(LENGTH - 4);
    Sha256::digest(Sha256::digest(payload)).starts_with(checksum)
}

/// Whether the code is an address in Bech32 or Bech32m with the prefix `bc1`.
fn is_bech32(code: &[u8]) -> bool {
    const GENERATORS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    const REMAINDERS: [u32; 2] = [1, 0x2bc8_30a3];
    let lower = code.to_ascii_lowercase();
    let Some(data) = lower.strip_prefix(b"bc1").filter(|data| data.len() >= 6) else {
        return false;
    };
    let next = |check: u32, value: u32| {
        let top = check >> 25;
        let shifted = (check & 0x01ff_ffff) << 5 ^ value;
        let bits = (0..5).filter(|bit| top >> bit & 1 == 1);
        bits.fold(shifted, |sum, bit| sum ^ GENERATORS[bit])
    };
    // The prefix `bc`, expanded: the high bits of each letter, a zero, the low bits.
    let prefix = [3, 3, 0, 2, 3].into_iter().fold(1, next);
    let mut check = prefix;
    for byte in data {
        let Some((value, _)) = (0..).zip(BECH32).find(|(_, known)| *known == byte) else {
            return false;
        };
        check = next(check, value);
    }
    REMAINDERS.contains(&check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_by_their_checksum() {
        // The address of the first block, and examples of BIP 173 and BIP 350.
        for address in [
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
            "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
            "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
        ] {
            let text = format!("pay to {address}, please");
            let found: Vec<&str> = wallets(&text).map(|one| &text[one.span]).collect();
            assert_eq!(found, [address]);
            let damaged = text.replace('7', "8").replace("5w7kv", "5w8kv").replace('9', "z");
            assert_eq!(wallets(&damaged).count(), 0, "{damaged}");
        }
    }
}

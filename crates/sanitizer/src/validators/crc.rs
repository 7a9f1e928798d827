//! The checksum in tokens of GitHub and npm, as GitHub documents it: the last six characters are
//! the CRC-32 of the thirty before them, in base 62.

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_LENGTH: usize = 30;
const CHECKSUM_LENGTH: usize = 6;

/// Whether `token`, with its prefix up to the underscore, ends in its checksum.
pub(super) fn is_valid(token: &str) -> bool {
    let Some((_, body)) = token.split_once('_') else { return false };
    let Some((random, checksum)) = body.as_bytes().split_at_checked(RANDOM_LENGTH) else {
        return false;
    };
    checksum == base62(crc32(random))
}

/// CRC-32 as in ISO-HDLC, Ethernet and zip.
fn crc32(bytes: &[u8]) -> u32 {
    const REVERSED_POLYNOMIAL: u32 = 0xEDB8_8320;
    let shifted = |crc: u32| (crc >> 1) ^ (REVERSED_POLYNOMIAL * (crc & 1));
    let next = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| shifted(crc));
    !bytes.iter().fold(!0, next)
}

fn base62(mut number: u32) -> [u8; CHECKSUM_LENGTH] {
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_matches_the_standard_vector() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(&base62(61 * 62 + 10), b"0000zA");
    }

    #[test]
    fn token_is_valid_only_with_its_own_checksum() {
        let random = "abcdefghijklmnopqrstuvwxyz0123";
        let checksum = base62(crc32(random.as_bytes()));
        let token = format!("ghp_{random}{}", String::from_utf8_lossy(&checksum));
        assert!(is_valid(&token));
        assert!(!is_valid(&token.replace('a', "b")) && !is_valid("ghp_abc") && !is_valid("abc"));
    }
}

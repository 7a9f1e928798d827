//! Credentials of another kind in place of an access token.

use mc_auth::jwt::{Part, Reason};
use mc_auth::secret::{DeviceCode, PersonalAccessToken, RefreshToken};
use serde_json::json;

use crate::forge::{Case, Forge, now, signed_by};

pub fn cases(forge: &Forge) -> Vec<Case> {
    let mut claims = forge.claims();
    claims["token_use"] = json!("refresh");
    let refresh_jwt = signed_by(&forge.active, &claims);
    vec![
        Case::new("a refresh token", RefreshToken::generate().expose(), Reason::Parts),
        Case::new(
            "a personal access token",
            PersonalAccessToken::generate().expose(),
            Reason::Parts,
        ),
        Case::new("a device code", DeviceCode::generate().expose(), Reason::Parts),
        Case::new(
            "a refresh token as a JWT",
            refresh_jwt,
            Reason::UnexpectedClaim("token_use".to_owned()),
        ),
        Case::new("an ID token of the same key", id_token(forge), Reason::Type),
        Case::new(
            "with its scheme",
            format!("Bearer {}", forge.good()),
            Reason::Encoding(Part::Header),
        ),
        Case::new("a PASETO", "v4.public.eyJzdWIiOiJhZG1pbiJ9", Reason::Encoding(Part::Header)),
        Case::new("an encrypted token", ENCRYPTED, Reason::Parts),
    ]
}

/// The five parts of RFC 7516, appendix A.1, truncated.
const ENCRYPTED: &str = "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.OKOawDo13gRp2ojaHV7LFp\
                         cgV7T6DVZKTyKOMTYUmKoTCVJRgckCL9kiMT03JGe.48V1_ALb6US04U3b.5eym8TW_c8S\
                         uK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4vpzs9tX_EFShS8iB7j6ji.XFBoMYUZodetZdvT\
                         iFvSkQ";

fn id_token(forge: &Forge) -> String {
    let header = json!({"alg": "EdDSA", "typ": "JWT", "kid": forge.kid()});
    let claims = json!({
        "iss": forge.party.issuer,
        "aud": forge.party.audience,
        "sub": forge.claims()["sub"],
        "iat": now().timestamp(),
        "exp": now().timestamp() + 300,
    });
    forge.signed(header.to_string().as_bytes(), claims.to_string().as_bytes())
}

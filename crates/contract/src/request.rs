//! The traits of requests.

use serde::de::DeserializeOwned;

use crate::ValidationError;

/// A request whose fields hold their own rules; [`check`](Request::check) adds those that concern
/// several fields at once. A request is accepted once it is deserialized and checked.
pub trait Request: DeserializeOwned {
    /// Checks the rules between fields.
    fn check(&self) -> Result<(), ValidationError> {
        Ok(())
    }
}

/// Defines parameters of a path, each with its schema inline.
macro_rules! path {
    ($(
        $(#[$doc:meta])+
        $name:ident { $($(#[$about:meta])+ $field:ident: $type:ident,)+ }
    )+) => {$(
        $(#[$doc])+
        #[derive(Debug, serde::Deserialize, utoipa::IntoParams)]
        #[into_params(parameter_in = Path)]
        pub struct $name { $($(#[$about])+ #[param(inline)] pub $field: $type,)+ }

        impl $crate::Request for $name {}
    )+};
}

/// Defines parameters of a query, each with its schema inline; others are rejected.
macro_rules! query {
    ($(
        $(#[$doc:meta])+
        $name:ident { $($(#[$about:meta])+ $field:ident: $type:ident $(<$of:ident>)?,)+ }
    )+) => {$(
        $(#[$doc])+
        #[derive(Debug, serde::Deserialize, utoipa::IntoParams)]
        #[serde(deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        pub struct $name { $($(#[$about])+ #[param(inline)] pub $field: $type $(<$of>)?,)+ }

        impl $crate::Request for $name {}
    )+};
}

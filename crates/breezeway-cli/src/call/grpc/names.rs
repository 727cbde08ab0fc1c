//! Names of methods and services, as a command line gives them.

/// Splits `package.Service.Method` or `package.Service/Method`.
pub(super) fn split(name: &str) -> Result<(&str, &str), String> {
    name.rsplit_once(['.', '/'])
        .ok_or_else(|| format!("'{name}' is not a method: name it as package.Service/Method"))
}

/// Returns true if `wanted` names a service: in full, or without its package.
pub(super) fn is_named(service: &str, wanted: &str) -> bool {
    service == wanted || service.rsplit('.').next() == Some(wanted)
}

/// Returns a list of names for an error.
pub(super) fn one_of(names: &[String]) -> String {
    match names.is_empty() {
        true => "there is none".to_owned(),
        false => format!("there are {}", names.join(", ")),
    }
}

//! Test whether two processes see the same folder of the same host.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

use breezeway::{Address, Place};

/// File with the boot id of the machine: the same in all its containers.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Host of a server, and folder of its sockets: registered as text, so that clients can determine
/// whether its sockets are accessible to them.
///
/// It consists of the kernel's boot id, and the device and inode of the folder. The folder is used
/// rather than the socket, which is another one after each restart. Containers share it if both
/// have it mounted, under the same path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Locality {
    boot: String,
    device: u64,
    inode: u64,
}

impl Locality {
    /// Returns the locality of the address's first place that is a socket file. Its folder must
    /// exist. An address without such a place is an error.
    pub fn of(address: &Address) -> io::Result<Self> {
        let no_file = || {
            let message = format!(
                "{address} has no place with a socket file: list a shm: or unix: place too, or use \
                 Instance::new for an instance that is reached over the network alone"
            );
            io::Error::new(io::ErrorKind::NotFound, message)
        };
        let path = address.places().iter().find_map(Place::path).ok_or_else(no_file)?;
        let (device, inode) = folder(path)?;
        Ok(Self { boot: boot_id()?.to_owned(), device, inode })
    }

    /// Returns true if the server is on this host, so that its folder may be visible here.
    pub(super) fn is_on_this_host(&self) -> bool {
        boot_id().is_ok_and(|boot| boot == self.boot)
    }

    /// Returns true if the folder of this socket is that of the server.
    pub(super) fn is_seen_at(&self, path: &Path) -> bool {
        self.is_on_this_host()
            && folder(path).is_ok_and(|folder| folder == (self.device, self.inode))
    }
}

fn folder(socket: &Path) -> io::Result<(u64, u64)> {
    let folder = match socket.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let metadata = fs::metadata(folder)?;
    Ok((metadata.dev(), metadata.ino()))
}

fn boot_id() -> io::Result<&'static str> {
    static ID: OnceLock<String> = OnceLock::new();
    if let Some(id) = ID.get() {
        return Ok(id);
    }
    let id = fs::read_to_string(BOOT_ID)?.trim().to_owned();
    Ok(ID.get_or_init(|| id))
}

impl fmt::Display for Locality {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.boot, self.device, self.inode)
    }
}

/// Error for text that is not a [`Locality`].
#[derive(Debug, thiserror::Error)]
#[error("not a boot id, a device and an inode with slashes between them")]
pub struct NoLocality;

impl FromStr for Locality {
    type Err = NoLocality;

    fn from_str(text: &str) -> Result<Self, NoLocality> {
        let mut parts = text.split('/');
        let mut part = || parts.next().ok_or(NoLocality);
        let (boot, device, inode) = (part()?.to_owned(), part()?, part()?);
        let number = |text: &str| text.parse().map_err(|_| NoLocality);
        let locality = Self { boot, device: number(device)?, inode: number(inode)? };
        let is_whole = !locality.boot.is_empty() && parts.next().is_none();
        is_whole.then_some(locality).ok_or(NoLocality)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_socket_is_known_again_and_no_other() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let socket = one.path().join("a.sock");
        let told = Locality::of(&Address::shm(&socket)).unwrap().to_string();
        let locality: Locality = told.parse().unwrap();
        assert!(locality.is_seen_at(&socket), "the socket does not exist yet");
        assert!(locality.is_seen_at(&one.path().join("b.sock")));
        assert!(!locality.is_seen_at(&other.path().join("a.sock")));
        let link = other.path().join("link");
        std::os::unix::fs::symlink(one.path(), &link).unwrap();
        assert!(locality.is_seen_at(&link.join("a.sock")));
        fs::remove_file(&link).unwrap();
        assert!(!locality.is_seen_at(&link.join("a.sock")));
    }

    #[test]
    fn the_same_numbers_on_another_host_are_another_folder() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("a.sock");
        let here = Locality::of(&Address::shm(&socket)).unwrap();
        let boot = "11111111-2222-3333-4444-555555555555".to_owned();
        assert!(!Locality { boot, ..here }.is_seen_at(&socket));
    }

    #[test]
    fn a_folder_that_is_not_there_has_none() {
        assert!(Locality::of(&Address::shm("/no/such/folder/a.sock")).is_err());
    }

    #[test]
    fn address_without_a_socket_file_is_refused_with_the_remedy() {
        let error = Locality::of(&"tcp:localhost:1".parse().unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("tcp:localhost:1 has no place with a socket file"), "{error}");
        assert!(error.contains("shm: or unix:") && error.contains("Instance::new"), "{error}");
    }

    #[test]
    fn invalid_locality_is_refused() {
        for text in ["", "a", "a/1", "a/1/", "a/1/x", "a/1/2/3", "/1/2", "a/-1/2"] {
            assert!(text.parse::<Locality>().is_err(), "{text}");
        }
    }
}

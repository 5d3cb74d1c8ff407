//! Connections of a process over `tcp`. The provider takes every connection, and an answer that comes over it for that of a member. So all
//! members connect before a group runs, and tell each other from where. Then nobody else connects any more, and the other connections end.

#![allow(unsafe_code, reason = "the provider does not hand out its sockets")]

use std::collections::BTreeSet;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::BorrowedFd;

use socket2::{SockAddr, SockRef};

/// A connection: the address from which it was begun, and the one to which it leads.
pub(super) type Connection = (SocketAddr, SocketAddr);

/// Returns the address in the name of an endpoint, which is a `sockaddr_in` or a `sockaddr_in6`.
pub(super) fn address(name: &[u8]) -> Option<SocketAddr> {
    let ip = match name.len() {
        16 => IpAddr::from(<[u8; 4]>::try_from(&name[4..8]).ok()?),
        28 => IpAddr::from(<[u8; 16]>::try_from(&name[8..24]).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), u16::from_be_bytes([name[2], name[3]])))
}

/// Calls `look` with each socket of this process, and its own address.
fn each_socket(mut look: impl FnMut(&SockRef<'_>, SocketAddr)) {
    let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers: Vec<i32> = files.filter_map(|file| file.file_name().to_str()?.parse().ok()).collect();
    for number in numbers {
        // SAFETY: nothing keeps the number. If its file is closed meanwhile, the calls fail.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        let socket = SockRef::from(&file);
        if let Some(own) = numbers_of(socket.local_addr()) {
            look(&socket, own);
        }
    }
}

/// Returns address and port alone.
fn numbers_of(address: std::io::Result<SockAddr>) -> Option<SocketAddr> {
    let address = address.ok()?.as_socket()?;
    Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
}

/// Returns the connections of this process to these addresses.
pub(super) fn begun(to: &BTreeSet<SocketAddr>) -> Vec<Connection> {
    let mut all = Vec::new();
    each_socket(|socket, own| {
        all.extend(numbers_of(socket.peer_addr()).filter(|other| to.contains(other)).map(|other| (own, other)));
    });
    all
}

/// Lets nobody connect to these addresses of this process any more, and ends all connections to them other than these. Returns false if
/// an address was not found.
pub(super) fn close(own: &BTreeSet<SocketAddr>, known: &BTreeSet<Connection>) -> bool {
    let mut closed = BTreeSet::new();
    each_socket(|socket, at| {
        if own.contains(&at) && socket.is_listener().unwrap_or(false) && is_filtered(socket) {
            closed.insert(at);
            // Those which the provider has not taken yet are of nobody who has made an operation.
            while socket.nonblocking().unwrap_or(false) && socket.accept().is_ok() {}
        }
    });
    each_socket(|socket, at| {
        let from = numbers_of(socket.peer_addr()).filter(|_| own.contains(&at));
        if from.is_some_and(|from| !known.contains(&(from, at))) {
            _ = socket.shutdown(Shutdown::Both);
        }
    });
    closed == *own
}

/// Lets no packet through to a socket. Connections that it has made already keep theirs.
#[cfg(target_os = "linux")]
fn is_filtered(socket: &SockRef<'_>) -> bool {
    // A program of one instruction, which keeps 0 bytes of each packet (`BPF_RET`).
    socket.attach_filter(&[socket2::SockFilter::new(6, 0, 0, 0)]).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn is_filtered(_: &SockRef<'_>) -> bool {
    false
}

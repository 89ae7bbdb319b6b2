//! A port that two tests have is a failure of neither.

use std::collections::BTreeSet;
use std::net::{TcpListener, UdpSocket};
use std::sync::mpsc;
use tidemark_patience::{port, ports, until};

#[test]
fn a_port_belongs_to_a_test_until_its_thread_ends() {
    let (tell, told) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let test = std::thread::spawn(move || {
        tell.send(port()).unwrap();
        let _ = ends.recv();
    });
    let port = told.recv().unwrap();
    let claim = || UdpSocket::bind(("127.0.0.1", port));
    for _ in 0..2 {
        // Its server starts and stops, and nobody else is given the port.
        drop(TcpListener::bind(("127.0.0.1", port)).unwrap());
        assert!(claim().is_err());
    }
    drop(end);
    test.join().unwrap();
    until("the claim has ended", || claim().is_ok());
}

#[test]
fn no_two_claims_share_a_port() {
    let of_up = || (0..20).chain(100..110);
    let claimed = (0..4).flat_map(|_| {
        let first = ports(of_up());
        of_up().map(move |offset| first + offset).chain([port()])
    });
    let claimed: Vec<u16> = claimed.collect();
    assert_eq!(claimed.iter().collect::<BTreeSet<_>>().len(), claimed.len());
    assert!(claimed.into_iter().all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()));
}

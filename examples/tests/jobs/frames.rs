use crate::programs::{Server, addresses, output};

#[test]
fn tensors_arrive_whole_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for (address, carrier) in addresses(folder.path()) {
        let mut server = Server::start("frames-server", &[&address]);
        let printed = output("frames-client", &[&server.address]);
        assert_eq!(printed, "the server has read 5 tensors\n", "over {carrier}");
        for step in 1..=5 {
            let line = server.lines.next().unwrap().unwrap();
            assert_eq!(line, format!("shape [2, 1024, 1024], sum {}", step * 2 * 1024 * 1024));
        }
    }
}

//! Kitex's client and server within TLS.

use std::process::Command;

use breezeway_rpc::{AsyncThriftClient, ThriftClient, ThriftFraming};

use super::{
    FRAMINGS, Peer, every_kind_of_method, kitex_tries, line, program, unknown_method,
    what_other_framings_do_not_carry, what_ttheader_carries,
};
use crate::over_tls::{self, Certificates, awaited};
use crate::shop::{AsyncShopClient, ShopClient};

#[test]
#[ignore = "needs Go"]
fn kitexs_client_calls_within_tls_in_every_framing() {
    let all = Certificates::new();
    let issued = all.0.issue("client.test");
    let [root, chain, key] =
        [all.0.root(), issued.chain, issued.key].map(|path| path.display().to_string());
    for framing in FRAMINGS {
        let running = over_tls::Running::new(all.server());
        let address = running.address.to_string().replace("tls:", "tcp:").parse().unwrap();
        kitex_tries("call-tls", &address, &[framing, &root, &chain, &key]);
    }
    for framing in FRAMINGS {
        awaited(async {
            let address = over_tls::serve_awaited(all.server());
            let address = address.to_string().replace("tls:", "tcp:").parse().unwrap();
            let files = [&root, &chain, &key].map(String::clone);
            let trying = move || {
                let [root, chain, key] = &files;
                kitex_tries("call-tls", &address, &[framing, root, chain, key]);
            };
            tokio::task::spawn_blocking(trying).await.unwrap();
        });
    }
}

#[test]
#[ignore = "needs Go"]
fn own_clients_call_kitex_server_in_every_framing() {
    let all = Certificates::new();
    let issued = all.0.issue("127.0.0.1");
    let files = [issued.chain, issued.key].map(|path| path.display().to_string());
    let tls = || breezeway::Tls::new().roots(all.0.root()).unwrap();
    for framing in [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed] {
        let mut server = Command::new(program());
        server.args(["serve-tls", "tcp:127.0.0.1:0"]).args(&files);
        let mut kitex = Peer::start(server, tempfile::tempdir().unwrap());
        let client = || ThriftClient::with_framing(kitex.address.clone(), framing).tls(tls());
        let shop = ShopClient::new(client());
        every_kind_of_method(&shop);
        match framing {
            ThriftFraming::TtHeader => what_ttheader_carries(&shop),
            _ => what_other_framings_do_not_carry(&shop),
        }
        unknown_method(&client());
        let client = AsyncThriftClient::with_framing(kitex.address.clone(), framing).tls(tls());
        awaited(async {
            let shop = AsyncShopClient::new(client);
            let text = "x".repeat(1 << 20);
            for _ in 0..3 {
                assert!(shop.echo(text.clone()).await.unwrap() == text);
            }
        });
        shop.look("Ada".to_owned()).unwrap();
        assert_eq!(line(&mut kitex.lines), "Ada");
    }
}

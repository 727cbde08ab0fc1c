//! Messages of every size, and many calls at a time.

use breezeway_grpc_interop::cases::{client, simple};

use crate::support::{on_every_link, soon};

#[test]
fn messages_of_every_size_come_and_go_whole() {
    const SIZES: [usize; 12] =
        [0, 1, 35, 90, 104, 4_096, 65_535, 262_139, 262_144, 1 << 20, 5_000_001, 64 << 20];
    on_every_link(|channel, _| async move {
        for size in SIZES {
            let mut client = client(channel.clone());
            let response = soon(client.unary_call(simple(size, size as i32))).await.unwrap();
            let payload = response.into_inner().payload.unwrap();
            assert_eq!(payload.body.len(), size);
        }
    });
}

#[test]
fn five_hundred_calls_go_on_at_the_same_time() {
    on_every_link(|channel, _| async move {
        let calls: Vec<_> = (0..500usize)
            .map(|number| {
                let mut client = client(channel.clone());
                tokio::spawn(async move {
                    let size = (number % 7) * 3_000;
                    let request = simple(size, number as i32);
                    let response = client.unary_call(request).await.unwrap().into_inner();
                    assert_eq!(response.payload.unwrap().body.len(), number);
                })
            })
            .collect();
        for call in calls {
            soon(call).await.unwrap();
        }
    });
}

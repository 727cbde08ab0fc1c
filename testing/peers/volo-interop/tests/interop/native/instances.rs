//! Volo's client of a service with several instances.

use std::cell::RefCell;

use breezeway_rpc::governance::ServiceChannel;
use breezeway_rpc::instances::{Fixed, Instance, InstanceOptions, Instances};
use breezeway_volo::CallOver;
use metainfo::{Forward, METAINFO, MetaInfo};
use volo_interop::volo::ShopClientBuilder;
use volo_thrift::{ClientError, MaybeException};

use super::shop::{Kind, Running};
use crate::volos_tea;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_to_the_instances_that_remain() {
    let mut first = Running::new(Kind::Volo, "shm");
    let second = Running::new(Kind::Awaiting, "shm");
    let instance = |name, running: &Running| Instance::here(name, running.address.clone()).unwrap();
    let both = Fixed::new(vec![instance("first", &first), instance("second", &second)]);
    let channel = ServiceChannel::new(Instances::new(both, InstanceOptions::new()));
    let shop = ShopClientBuilder::new("shops").call_over(channel).build();
    for _ in 0..20 {
        shop.check(1).await.unwrap();
    }
    drop(second);
    // The last call on the ended session may have run there, and is not repeated.
    let mut cut = 0;
    for _ in 0..40 {
        match shop.check(1).await {
            Ok(()) => {}
            Err(ClientError::Application(_)) if cut == 0 => cut = 1,
            Err(error) => panic!("{error}"),
        }
    }
    let bought = shop.buy(volos_tea(2), None).await.unwrap();
    assert!(matches!(bought, MaybeException::Ok(item) if item == volos_tea(2)));
    shop.look("Volo".into()).await.unwrap();
    assert_eq!(first.told().await, "Volo");
    let named = async {
        METAINFO.with(|values| values.borrow_mut().set_persistent("name", "Ada"));
        shop.look("Ada".into()).await
    };
    METAINFO.scope(RefCell::new(MetaInfo::new()), named).await.unwrap();
    assert_eq!(first.told().await, "Ada");
}

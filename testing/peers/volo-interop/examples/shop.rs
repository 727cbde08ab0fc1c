//! Volo's service and client over shared memory, in two processes:
//!
//! ```text
//! cargo run -p volo-interop --example shop serve shm:/tmp/shop.sock
//! cargo run -p volo-interop --example shop buy shm:/tmp/shop.sock
//! ```

use std::time::Duration;

use anyhow::{Result, bail};
use breezeway::Address;
use breezeway_rpc::AsyncServer;
use breezeway_tokio::Client;
use breezeway_volo::{CallOver, VoloService, methods};
use pilota::FastStr;
use volo_interop::volo::{
    Item, OutOfStock, Shop, ShopBuyException, ShopClientBuilder, ShopRequestRecv, ShopServer,
};
use volo_thrift::{MaybeException, ServerError};

/// A shop whose shelves are never empty, unless one buys a hundred.
struct Corner;

impl Shop for Corner {
    async fn check(&self, _: i32) -> Result<(), ServerError> {
        Ok(())
    }

    async fn buy(
        &self,
        wanted: Item,
        _: Option<FastStr>,
    ) -> Result<MaybeException<Item, ShopBuyException>, ServerError> {
        if wanted.count < 100 {
            return Ok(MaybeException::Ok(wanted));
        }
        let empty = OutOfStock { message: Some("not so many".into()), left: Some(99) };
        Ok(MaybeException::Exception(ShopBuyException::Empty(empty)))
    }

    async fn count(&self) -> Result<i64, ServerError> {
        Ok(99)
    }

    async fn echo(&self, text: FastStr) -> Result<FastStr, ServerError> {
        Ok(text)
    }

    async fn look(&self, who: FastStr) -> Result<(), ServerError> {
        println!("{who} looks in");
        Ok(())
    }
}

async fn serve(address: &Address) -> Result<()> {
    let methods = methods!(Shop: check, buy, count, echo; oneway: look);
    let shop = VoloService::<_, ShopRequestRecv>::new(ShopServer::from_handler(Corner), methods)?;
    Ok(AsyncServer::bind(address)?.with_thrift_clients().add_service(shop)?.serve().await?)
}

async fn buy(address: &Address) -> Result<()> {
    let client = Client::connect(address).await?;
    let shop = ShopClientBuilder::new("Shop")
        .rpc_timeout(Some(Duration::from_secs(1)))
        .call_over(client)
        .build();
    shop.look("Ada".into()).await?;
    for count in [1, 100] {
        let wanted = Item { name: "tea".into(), count, picture: None };
        match shop.buy(wanted, None).await? {
            MaybeException::Ok(item) => println!("bought {} {}", item.count, item.name),
            MaybeException::Exception(refused) => println!("refused: {refused:?}"),
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(&address.parse()?).await,
        ["buy", address] => buy(&address.parse()?).await,
        _ => bail!("usage: shop serve|buy ADDRESS"),
    }
}

//! Prints the path of protoc, which etcd's client is compiled with.

fn main() -> Result<(), protoc_bin_vendored::Error> {
    println!("{}", protoc_bin_vendored::protoc_bin_path()?.display());
    Ok(())
}

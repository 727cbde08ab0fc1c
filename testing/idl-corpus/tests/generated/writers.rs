//! Writers write the same bytes as owned values, and calls name their method and their reply.

use std::collections::BTreeMap;

use breezeway_idl_corpus::acme::common::Page;
use breezeway_idl_corpus::acme::user::{
    Gender, Profile, Role, SearchUsers, SearchUsersWriter, User, UserNotFound, UserServiceGetArgs,
    UserServiceGetArgsWriter, UserServiceGetReply, UserServiceGetReplyWriter, UserServiceTouchArgs,
    UserWriter,
};
use breezeway_idl_corpus::containers::{Item, Sets, SetsWriter, Weight};
use breezeway_idl_corpus::keywords::{Loop, LoopWriter};
use breezeway_idl_corpus::recursive::{Tree, TreeWriter};
use breezeway_idl_corpus::streaming::EchoServiceEchoServerArgs;
use breezeway_thrift::{Call, Encode, Output, Set, Streaming, Uuid, decode_slice, to_vec};

/// Asserts that `write` writes the bytes of `value`.
fn same(value: &impl Encode, write: impl FnOnce(&mut Output<'_>)) {
    let mut buffer = vec![0; value.size()];
    let mut output = Output::new(&mut buffer);
    write(&mut output);
    let size = output.finish().unwrap();
    assert_eq!(buffer[..size], to_vec(value).unwrap());
}

fn user() -> User {
    User {
        id: 7,
        email: "ann@example.com".to_owned(),
        profile: Profile {
            display_name: "Ann".to_owned(),
            avatar: Some(vec![1, 2, 3]),
            gender: Some(Gender::FEMALE),
            links: vec!["https://example.com".to_owned()],
            ..Profile::default()
        },
        roles: Set(vec![Role::ADMIN, Role(99)]),
        attributes: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        created_at: Some(5),
        ..User::default()
    }
}

#[test]
fn a_struct_with_structs_and_containers_is_written_in_place() {
    let user = user();
    same(&user, |to| {
        let start = UserWriter::new(to).id(7).email("ann@example.com").profile(|profile| {
            let profile = profile.display_name_in_place(3, |to| to.copy_from_slice(b"Ann"));
            let profile = profile.avatar(&[1, 2, 3]).gender(Gender::FEMALE);
            profile.links(&user.profile.links)
        });
        let middle = start.roles([Role::ADMIN, Role(99)]).attributes(&user.attributes);
        middle.created_at(5).active(true).reputation(0.5).end();
    });
}

#[test]
fn sets_of_numbers_and_of_structs_are_written_in_place() {
    let sets = Sets {
        ints: Set(vec![3, 1, 2]),
        items: Set(vec![Item { id: 1, name: "one".to_owned() }]),
        weights: Set(vec![Weight { kilograms: 0.5 }, Weight { kilograms: f64::INFINITY }]),
        uuids: Set(vec![Uuid([7; 16])]),
        ..Sets::default()
    };
    let mut buffer = [0; 256];
    let mut output = Output::new(&mut buffer);
    let writer = SetsWriter::new(&mut output).ints([3, 1, 2]).uuids([Uuid([7; 16])]);
    let writer = writer.items([(1, "one")], |item, (id, name)| item.id(id).name(name));
    writer.weights([0.5, f64::INFINITY], |weight, kilograms| weight.kilograms(kilograms)).end();
    let size = output.finish().unwrap();
    assert_eq!(decode_slice::<Sets>(&buffer[..size]).unwrap(), sets);
}

#[test]
fn recursive_structs_are_written_to_any_depth() {
    let leaf = |value| Tree { value, ..Tree::default() };
    let left = Tree { value: 2, others: vec![leaf(3), leaf(4)], ..Tree::default() };
    let tree = Tree { value: 1, left: Some(Box::new(left)), ..Tree::default() };
    same(&tree, |to| {
        let none: [i32; 0] = [];
        let leaves = [3, 4];
        let writer = TreeWriter::new(to).value(1);
        let writer = writer.left(|left| {
            left.value(2)
                .others(leaves, |tree, value| tree.value(value).others([(); 0], |tree, ()| tree))
        });
        writer.others(none, |tree, _| tree).end();
    });
}

#[test]
fn unions_are_written_with_one_field() {
    same(&Loop::For("each".to_owned()), |to| LoopWriter::new(to).r#for("each").end());
}

#[test]
fn calls_name_their_method_and_reply() {
    assert_eq!(UserServiceGetArgs::METHOD, "get");
    const { assert!(UserServiceTouchArgs::ONEWAY && !UserServiceGetArgs::ONEWAY) };
    assert_eq!(EchoServiceEchoServerArgs::STREAMING, Streaming::Server);
    same(&UserServiceGetArgs { id: 7 }, |to| UserServiceGetArgsWriter::new(to).id(7).end());
    let missing = UserNotFound { id: 7, message: "gone".to_owned() };
    assert_eq!(missing.to_string(), "gone");
    same(&UserServiceGetReply::Missing(missing), |to| {
        let writer = UserServiceGetReplyWriter::new(to);
        writer.missing(|missing| missing.id(7).message("gone")).end();
    });
    let reply: <UserServiceGetArgs as Call>::Reply = UserServiceGetReply::Success(user());
    assert_eq!(decode_slice::<UserServiceGetReply>(&to_vec(&reply).unwrap()).unwrap(), reply);
}

#[test]
fn defaults_of_the_idl_are_there() {
    let request = SearchUsers::default();
    assert_eq!(request.page, Page { offset: 0, limit: 20 });
    // An absent field is its default, not zero.
    assert_eq!(decode_slice::<SearchUsers>(&[0]).unwrap(), request);
    same(&request, |to| {
        SearchUsersWriter::new(to).query("").page(|page| page.offset(0).limit(20)).end();
    });
}

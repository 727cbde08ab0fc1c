/*
 * Accounts and profiles, as a typical user service has them.
 */
namespace rs acme.user
namespace go acme.user
namespace java com.acme.user

include "common.thrift"

/** What an account may do. */
enum Role {
    GUEST = 0,
    MEMBER = 1, // the usual
    MODERATOR = 5
    ADMIN = 10;
}

enum Gender { UNKNOWN, FEMALE, MALE, OTHER }

/**
 * A person's public face.
 *
 * Everything but the name may be hidden by the person.
 */
struct Profile {
    1: required string display_name (go.tag = 'json:"display_name"'),
    2: optional string bio,
    3: optional binary avatar,
    4: optional Gender gender = Gender.UNKNOWN,
    5: list<string> links = [],
    6: optional common.Timestamp born_at, // midnight UTC
}

struct User {
    1: required common.UserId id (api.path = "id"),
    2: required string email (vt.pattern = "^[^@]+@[^@]+$"),
    3: Profile profile,
    4: set<Role> roles = [Role.MEMBER],
    5: map<string, string> attributes,
    6: optional common.Timestamp created_at,
    7: bool active = true,
    8: double reputation = 0.5,
}

exception UserNotFound {
    1: required common.UserId id,
    2: string message,
}

exception EmailTaken {
    1: string email
} (message = "email")

struct SearchUsers {
    1: string query,
    2: common.Page page = {"offset": 0, "limit": 20},
    3: optional list<Role> roles,
}

struct Users {
    1: required list<User> users,
    2: optional common.Cursor next,
}

/** Accounts. */
service UserService extends common.Health {
    /** One account. */
    User get(1: common.UserId id) throws (1: UserNotFound missing) (api.get = "/v1/users/:id"),
    /** A new account; the email must be free. */
    User create(1: required string email, 2: Profile profile) throws (1: EmailTaken taken)
    Users search(1: SearchUsers request),
    void delete(1: common.UserId id) throws (1: UserNotFound missing),
    oneway void touch(1: common.UserId id),
    map<common.UserId, User> batchGet(1: list<common.UserId> ids),
}

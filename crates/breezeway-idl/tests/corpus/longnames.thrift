namespace rs longnames

/** Names that run into the right margin wherever they are used. */
struct CustomerRelationshipManagementRecordHistory {
    1: required CustomerRelationshipManagementRecord the_record_as_it_was_before_the_change_was_made
    2: optional map<string, list<CustomerRelationshipManagementRecord>> records_of_all_other_systems_by_name
    3: list<i64> numbers_of_all_the_invoices_that_were_sent
    4: optional CustomerRelationshipManagementRecord previous
    5: HowTheCustomerWishesToBeContacted preferred_contact_of_the_customer = HowTheCustomerWishesToBeContacted.BY_TELEPHONE_IN_THE_MORNING
    6: string text_with_a_default_that_is_longer_than_a_line = "a default that is longer than any line of code should be, and that goes on after that too"
    7: map<string, map<HowTheCustomerWishesToBeContacted, list<set<CustomerRelationshipManagementRecord>>>> everything
    8: list<CustomerRelationshipManagementRecord> records_that_were_merged_into_this_one
    9: binary scan_of_the_signed_contract_with_the_customer
    1000: required i32 number_of_changes_in_this_and_all_former_years
    1001: required list<string> words
}

struct CustomerRelationshipManagementRecord { 1: i32 x, 2: optional string what_the_customer_said_on_the_telephone }

enum HowTheCustomerWishesToBeContacted { BY_TELEPHONE_IN_THE_MORNING = 1, BY_LETTER = 2 }

union AnyOfTheRecordsOfTheCustomerRelationship {
    1: CustomerRelationshipManagementRecord the_record_itself_as_it_is_at_this_moment
    2: map<HowTheCustomerWishesToBeContacted, list<set<CustomerRelationshipManagementRecord>>> nested
    3: AnyOfTheRecordsOfTheCustomerRelationship any_other
}

exception TheCustomerDoesNotWishToBeContacted { 1: required string explanation_of_why_the_customer_is_not_to_be_called (message = "") }

service CustomerRelationshipService {
    CustomerRelationshipManagementRecord loadRecordOfCustomer(1: CustomerRelationshipManagementRecord first_argument, 2: i64 second_argument, 3: list<string> third_argument) throws (1: TheCustomerDoesNotWishToBeContacted not_to_be_contacted)
    oneway void fire(1: AnyOfTheRecordsOfTheCustomerRelationship the_record)
}

const map<string, list<string>> WORDS_OF_ALL_THE_LANGUAGES_THAT_ARE_SPOKEN = {"one": ["a word that is rather long", "and another one, longer still"], "two": []}
const list<double> WEIGHTS = [0.125, 1234567.875, 3.0, 1e100, 0.333333333333333, 2.5, 7.75, 8.125, 9.5, 10.25]

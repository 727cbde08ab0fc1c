namespace rs longnames

/** Names that run into the right margin wherever they are used. */
struct AnExtraordinarilyLongStructNameThatNobodyWouldWriteByHandButThatGeneratorsDoWrite {
    1: required AnotherRatherLongStructNameForTheSakeOfTheRightMargin a_field_name_that_is_long_enough_to_break_the_line_by_itself
    2: optional map<string, list<AnotherRatherLongStructNameForTheSakeOfTheRightMargin>> some_map_of_lists_with_a_long_name_and_a_long_type
    3: list<i64> numbers_with_a_name_that_is_quite_long_for_a_list_of_numbers_indeed
    4: optional AnotherRatherLongStructNameForTheSakeOfTheRightMargin mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm
    5: EnumWithAnUnnecessarilyLongNameThatGoesOnAndOnAndOn value_of_the_enum_with_the_long_name = EnumWithAnUnnecessarilyLongNameThatGoesOnAndOnAndOn.A_VALUE_WITH_AN_UNNECESSARILY_LONG_NAME_OF_ITS_OWN
    6: string text_with_a_default_that_is_longer_than_a_line_of_code = "a default that is longer than any line of code should be, and that goes on after that too"
}

struct AnotherRatherLongStructNameForTheSakeOfTheRightMargin { 1: i32 x, 2: optional string yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy }

enum EnumWithAnUnnecessarilyLongNameThatGoesOnAndOnAndOn { A_VALUE_WITH_AN_UNNECESSARILY_LONG_NAME_OF_ITS_OWN = 1, B = 2 }

union UnionWhoseNameIsLongAndWhoseVariantsAreLongerStill {
    1: AnotherRatherLongStructNameForTheSakeOfTheRightMargin a_variant_with_a_long_name_for_the_sake_of_the_margin
    2: map<EnumWithAnUnnecessarilyLongNameThatGoesOnAndOnAndOn, list<set<AnotherRatherLongStructNameForTheSakeOfTheRightMargin>>> nested
}

exception ExceptionThatSaysAtLengthWhatWentWrong { 1: required string explanation_of_what_went_wrong_at_considerable_length }

service ServiceWithARatherLongNameAsSomeTeamsLikeThem {
    AnotherRatherLongStructNameForTheSakeOfTheRightMargin aMethodWithALongNameAndManyArguments(1: AnotherRatherLongStructNameForTheSakeOfTheRightMargin first_argument, 2: i64 second_argument, 3: list<string> third_argument) throws (1: ExceptionThatSaysAtLengthWhatWentWrong went_wrong)
    oneway void fire(1: UnionWhoseNameIsLongAndWhoseVariantsAreLongerStill the_union_with_the_long_name)
}

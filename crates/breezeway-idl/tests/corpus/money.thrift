namespace rs acme.money

/** ISO 4217. */
enum Currency {
    EUR = 978,
    USD = 840,
    GBP = 826,
    JPY = 392,
}

/** Hundredths, so that nothing is rounded. */
struct Amount {
    1: required i64 minor_units,
    2: required Currency currency = Currency.EUR,
}

const Amount NOTHING = {"minor_units": 0, "currency": Currency.EUR}
const map<Currency, i16> DIGITS = {Currency.EUR: 2, Currency.USD: 2, Currency.JPY: 0}
const list<Currency> KNOWN = [Currency.EUR, Currency.USD, Currency.GBP, Currency.JPY]

namespace rs ads

enum BidStrategy { CPC = 1, CPM = 2, CPA = 3, O_CPM = 104 }

struct GeoTarget { 1: set<string> countries, 2: set<i32> regions, 3: list<double> centre, 4: optional double radius_km }

struct Creative {
    1: required i64 creative_id
    2: required string title
    3: optional string landing_url
    4: map<string, binary> assets
}

struct AdGroup {
    1: required i64 ad_group_id
    2: BidStrategy strategy = BidStrategy.CPM
    3: i64 bid_micros
    4: list<Creative> creatives
    5: optional GeoTarget geo
    6: map<i32, double> hour_multipliers
    7: list<list<i32>> age_ranges
    8: i8 priority = 7
}

struct Campaign {
    1: required i64 campaign_id
    2: string name
    3: list<AdGroup> groups
    4: i64 daily_budget_micros
    5: optional i64 starts_at
    6: optional i64 ends_at
    255: map<string, string> ext
}

struct BidRequest {
    1: required uuid request_id
    2: string placement
    3: map<string, double> features
    4: list<i64> segments
    5: optional binary device_blob
}

struct Bid { 1: i64 creative_id, 2: i64 price_micros, 3: double p_ctr, 4: string markup }

struct BidResponse { 1: uuid request_id, 2: list<Bid> bids, 3: optional string no_bid_reason }

service Bidder {
    BidResponse bid(1: BidRequest request)
    oneway void win(1: uuid request_id, 2: i64 creative_id, 3: i64 price_micros)
}

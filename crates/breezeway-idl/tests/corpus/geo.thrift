namespace rs geo

struct Point { 1: required double latitude, 2: required double longitude, 3: optional float_alt altitude }
typedef double float_alt

struct Box { 1: required Point south_west, 2: required Point north_east }

union Shape {
    1: Point point
    2: Box box
    3: list<Point> line
    4: list<list<Point>> polygon
}

struct Place {
    1: required string name
    2: required Shape shape
    3: map<string, string> names
    4: set<double> elevations
    5: map<double, string> contours
}

/** Points as keys: neither hashed nor ordered. */
struct Heatmap { 1: map<Point, i64> counts, 2: set<Point> pins }

const Point NORTH_POLE = {"latitude": 90, "longitude": 0.0}
const double EARTH_RADIUS_KM = 6371.0088

service Geo {
    list<Place> within(1: Box box)
    Place nearest(1: Point point, 2: double max_km = 10.0)
}

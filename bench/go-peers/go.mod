module breezeway/bench/go

go 1.22

module breezeway/peers/go

go 1.22

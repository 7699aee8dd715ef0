module github.com/bufpool/bufpool

go 1.26

module github.com/gocql/gocql

go 1.26

module cloud.google.com/go/run

go 1.26

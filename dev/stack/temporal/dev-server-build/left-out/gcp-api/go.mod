module google.golang.org/api

go 1.26

module reeve.dev/tests/web

go 1.25.0

// Peers of a CRI proxy, made of released modules: a client that makes calls as it is told, one that holds two servers
// against each other call by call, one that measures, one that starts pods, a server that echoes whatever comes, and one that answers at once.
package main

import (
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	commands := map[string]func([]string) error{
		"bench": bench, "call": call, "differential": differential, "echo": echo, "floor": serveFloor, "load": load,
		"pods": pods,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		log.Fatal("usage: cri-peer bench|call|differential|echo|floor|load|pods ...")
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

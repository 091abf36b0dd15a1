// Peers of a CRI proxy, made of released modules: a client that makes calls as it is told, one that holds two servers
// against each other call by call, and a server that echoes whatever comes.
package main

import (
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	commands := map[string]func([]string) error{"call": call, "differential": differential, "echo": echo, "load": load}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		log.Fatal("usage: cri-peer call|differential|echo|load ...")
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

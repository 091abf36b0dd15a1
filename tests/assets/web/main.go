// An application to scale: HTTP/1.1, HTTP/2 with trailers, upgrades, raw bytes, TLS and the PROXY protocol, and a start as
// slow as it is told to be.
package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

var (
	listen    = flag.String("listen", ":8080", "where HTTP is served")
	bytesAt   = flag.String("bytes", ":9000", "where bytes are echoed; nowhere if it is empty")
	delay     = flag.Duration("delay", 0, "how long the start takes")
	tlsAt     = flag.String("tls", "", "where HTTP over TLS is served; nowhere if it is empty")
	cert      = flag.String("cert", "", "file with the certificate")
	key       = flag.String("key", "", "file with its key")
	wantProxy = flag.Bool("proxy-protocol", false, "each connection begins with a header of the PROXY protocol")
	since     time.Time
)

func main() {
	flag.Parse()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	go func() { <-stop; os.Exit(0) }()
	time.Sleep(*delay)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP2(true)
	server := &http.Server{Handler: handler(), Protocols: protocols}
	if *bytesAt != "" {
		go echo(open(*bytesAt))
	}
	if *tlsAt != "" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			log.Fatal(err)
		}
		config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
		go func() { log.Fatal(server.Serve(tls.NewListener(open(*tlsAt), config))) }()
	}
	web := open(*listen)
	since = time.Now()
	fmt.Printf("listening since %d\n", since.UnixMicro())
	log.Fatal(server.Serve(web))
}

func open(address string) net.Listener {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	if *wantProxy {
		return proxied{listener}
	}
	return listener
}

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello\n") })
	mux.HandleFunc("/since", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, since.UnixMicro()) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		// Read whole: what is left of a body when an answer begins is thrown away in HTTP/1.1.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		// Announced, as gRPC's are.
		w.Header().Set("Trailer", "grpc-status")
		w.Write(body)
		w.Header().Set("grpc-status", "0")
	})
	mux.HandleFunc("/seen", func(w http.ResponseWriter, r *http.Request) {
		seen := map[string]any{
			"protocol": r.Proto, "from": r.RemoteAddr, "host": r.Host, "tls": r.TLS != nil, "headers": r.Header,
		}
		if r.TLS != nil {
			seen["serverName"] = r.TLS.ServerName
		}
		json.NewEncoder(w).Encode(seen)
	})
	mux.HandleFunc("/upgrade", upgrade)
	return mux
}

// Echoes bytes once the client has asked for another protocol.
func upgrade(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		http.Error(w, "nothing to upgrade to", http.StatusBadRequest)
		return
	}
	connection, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer connection.Close()
	fmt.Fprintf(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
	io.Copy(connection, buffered)
}

func echo(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			defer connection.Close()
			io.Copy(connection, connection)
		}()
	}
}

// A listener whose clients say first whom they stand for, in the first version of the PROXY protocol.
type proxied struct{ net.Listener }

func (p proxied) Accept() (net.Conn, error) {
	connection, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &standsFor{Conn: connection, reader: bufio.NewReader(connection)}, nil
}

type standsFor struct {
	net.Conn
	reader *bufio.Reader
	from   net.Addr
}

func (s *standsFor) header() error {
	if s.from != nil {
		return nil
	}
	line, err := s.reader.ReadString('\n')
	if err != nil {
		return err
	}
	words := strings.Fields(line)
	if len(words) != 6 || words[0] != "PROXY" {
		return fmt.Errorf("not a header of the PROXY protocol: %q", line)
	}
	s.from, err = net.ResolveTCPAddr("tcp", net.JoinHostPort(words[2], words[4]))
	return err
}

func (s *standsFor) Read(buffer []byte) (int, error) {
	if err := s.header(); err != nil {
		return 0, err
	}
	return s.reader.Read(buffer)
}

// Asked before anything is read, so the header is read here.
func (s *standsFor) RemoteAddr() net.Addr {
	if s.header() == nil {
		return s.from
	}
	return s.Conn.RemoteAddr()
}

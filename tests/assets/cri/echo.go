package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Messages as bytes, whatever they mean.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(value any) ([]byte, error) { return *value.(*[]byte), nil }

func (raw) Unmarshal(data []byte, value any) error {
	*value.(*[]byte) = append([]byte(nil), data...)
	return nil
}

var _ encoding.Codec = raw{}

// Serves any method of any service: what it does is in the method's name, before the first digit; a number is its size.
func echo(arguments []string) error {
	flags := flag.NewFlagSet("echo", flag.ExitOnError)
	socket := flags.String("listen", "", "unix socket to listen on")
	_ = flags.Parse(arguments)
	_ = os.Remove(*socket)
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(answer),
		grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20), grpc.MaxHeaderListSize(16<<20))
	return server.Serve(listener)
}

func answer(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	name := strings.TrimRight(path.Base(full), "0123456789")
	size, _ := strconv.Atoi(strings.TrimPrefix(path.Base(full), name))
	asked, _ := metadata.FromIncomingContext(stream.Context())
	header := metadata.MD{"method": {full}}
	for key, values := range asked {
		header.Append("asked-"+strings.TrimPrefix(key, ":"), values...)
	}
	_, limited := stream.Context().Deadline()
	header.Set("limited", strconv.FormatBool(limited))
	if name != "Silent" {
		if err := stream.SendHeader(header); err != nil {
			return err
		}
	}
	stream.SetTrailer(metadata.MD{"trailer-bin": {string([]byte{0, 1, 2, 255})}, "twice": {"a", "b"}})
	switch name {
	case "Fail":
		return failure(size)
	case "Wait":
		<-stream.Context().Done()
		// Later than the client's own clock, so that it is always the client who ends it.
		time.Sleep(200 * time.Millisecond)
		return stream.Context().Err()
	case "Send":
		for count := range 3 {
			// SendMsg may still read a message when it has returned.
			message := make([]byte, size)
			message[0] = byte(count)
			if err := stream.SendMsg(&message); err != nil {
				return err
			}
		}
		return nil
	case "Half":
		message := make([]byte, size)
		if err := stream.SendMsg(&message); err != nil {
			return err
		}
		return failure(size)
	}
	for {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			// The client has sent all that it has.
			return nil
		}
		if err := stream.SendMsg(&message); err != nil {
			return err
		}
		if name == "Slow" {
			time.Sleep(time.Millisecond)
		}
	}
}

func failure(size int) error {
	result := status.New(codes.Code(size%17), fmt.Sprintf("RegistryUnavailable: 100 %% wrong, \"söö\"\n%s", strings.Repeat("x", size)))
	detailed, err := result.WithDetails(wrapperspb.String("detail"), wrapperspb.Int64(int64(size)))
	if err != nil {
		return result.Err()
	}
	return detailed.Err()
}

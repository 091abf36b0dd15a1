package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// As kubelet dials: localhost as authority, and its pace of trying again.
func dial(socket string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix://"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20), grpc.MaxCallSendMsgSize(64<<20)))
}

// One call, and all that a client can see of its outcome.
type outcome struct {
	response proto.Message
	header   metadata.MD
	trailer  metadata.MD
	status   *status.Status
}

const runtimeService = "/runtime.v1.RuntimeService/"

func method(name string) (protoreflect.MethodDescriptor, string, error) {
	for _, service := range []string{"runtime.v1.RuntimeService", "runtime.v1.ImageService"} {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		if err != nil {
			return nil, "", err
		}
		if method := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(name)); method != nil {
			return method, "/" + service + "/" + name, nil
		}
	}
	return nil, "", fmt.Errorf("the CRI has no %s", name)
}

// Makes a call with a request in JSON.
func invoke(ctx context.Context, connection *grpc.ClientConn, name string, request []byte) (outcome, error) {
	descriptor, path, err := method(name)
	if err != nil {
		return outcome{}, err
	}
	message := dynamicpb.NewMessage(descriptor.Input())
	if len(request) > 0 {
		if err := protojson.Unmarshal(request, message); err != nil {
			return outcome{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	result := outcome{response: dynamicpb.NewMessage(descriptor.Output())}
	err = connection.Invoke(ctx, path, message, result.response, grpc.Header(&result.header), grpc.Trailer(&result.trailer))
	result.status = status.Convert(err)
	return result, nil
}

type order struct {
	Method  string          `json:"method"`
	Request json.RawMessage `json:"request"`
	// Milliseconds, or 0 for a minute.
	Timeout int `json:"timeout"`
}

// Reads a call from each line of standard input, and writes its outcome as a line.
func call(arguments []string) error {
	flags := flag.NewFlagSet("call", flag.ExitOnError)
	socket := flags.String("socket", "", "unix socket of the runtime")
	_ = flags.Parse(arguments)
	connection, err := dial(*socket)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var next order
		if err := json.Unmarshal(lines.Bytes(), &next); err != nil {
			return err
		}
		if next.Timeout == 0 {
			next.Timeout = 60_000
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(next.Timeout)*time.Millisecond)
		result, err := invoke(ctx, connection, next.Method, next.Request)
		cancel()
		if err != nil {
			return err
		}
		body, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(result.response)
		if err != nil {
			return err
		}
		line, err := json.Marshal(map[string]any{
			"code": result.status.Code().String(), "message": result.status.Message(), "response": json.RawMessage(body),
		})
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
	return lines.Err()
}

// Makes calls for as long as standard input is open, and says how many failed and why.
func load(arguments []string) error {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	socket := flags.String("socket", "", "unix socket of the runtime")
	workers := flags.Int("workers", 8, "calls at the same time")
	_ = flags.Parse(arguments)
	connection, err := dial(*socket)
	if err != nil {
		return err
	}
	done, results := make(chan struct{}), make(chan error, 1024)
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(done)
	}()
	for range *workers {
		go func() {
			for {
				select {
				case <-done:
					results <- context.Canceled
					return
				default:
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				result, err := invoke(ctx, connection, "ListContainers", nil)
				cancel()
				if err == nil && result.status.Code() != codes.OK {
					err = result.status.Err()
				}
				results <- err
			}
		}()
	}
	calls, failed, reasons, left := 0, 0, map[string]bool{}, *workers
	for left > 0 {
		switch err := <-results; {
		case err == context.Canceled:
			left--
		case err != nil:
			calls, failed = calls+1, failed+1
			reasons[err.Error()] = true
		default:
			calls++
		}
	}
	why := make([]string, 0, len(reasons))
	for reason := range reasons {
		why = append(why, reason)
	}
	fmt.Printf("calls=%d failed=%d %s\n", calls, failed, strings.Join(why, "; "))
	return nil
}

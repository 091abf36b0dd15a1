package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// What is compared of a call: everything that a client can see, with what differs from run to run made alike.
type seen struct {
	Messages []string
	Header   metadata.MD
	Trailer  metadata.MD
	Code     string
	Message  string
	Details  []string
}

func differential(arguments []string) error {
	flags := flag.NewFlagSet("differential", flag.ExitOnError)
	direct := flags.String("direct", "", "unix socket of the server")
	through := flags.String("through", "", "unix socket of the proxy before it")
	image := flags.String("image", "", "image to run; without it the server is the echo")
	group := flags.String("cgroup", "", "parent of the pods' control groups")
	_ = flags.Parse(arguments)
	script := func(socket string) ([]string, []seen, error) {
		connection, err := dial(socket)
		if err != nil {
			return nil, nil, err
		}
		defer connection.Close()
		if *image == "" {
			return streams(connection)
		}
		return calls(connection, *image, *group)
	}
	names, want, err := script(*direct)
	if err != nil {
		return fmt.Errorf("direct: %w", err)
	}
	_, got, err := script(*through)
	if err != nil {
		return fmt.Errorf("through the proxy: %w", err)
	}
	differing, failed := 0, 0
	for index := range want {
		if want[index].Code != "OK" {
			failed++
		}
		if !reflect.DeepEqual(want[index], got[index]) {
			differing++
			fmt.Printf("%s differs\n  direct:  %s\n  through: %s\n", names[index], short(want[index]), short(got[index]))
		}
	}
	fmt.Printf("calls=%d refused_by_both=%d differing=%d\n", len(want), failed, differing)
	return nil
}

func short(what seen) string {
	text := fmt.Sprintf("%s %q details=%q trailer=%q messages=%q header=%q", what.Code, what.Message, what.Details, what.Trailer, what.Messages, what.Header)
	if longest := 1500; len(text) > longest {
		text = text[:longest]
	}
	return text
}

var (
	moments   = regexp.MustCompile(`"(created_at|started_at|finished_at|timestamp)":\s*"[0-9]+"`)
	amounts   = regexp.MustCompile(`"value":\s*"[0-9]+"`)
	measured  = regexp.MustCompile(`"[a-z_]+":(\{\}|0),?`)
	addresses = regexp.MustCompile(`10\.244\.0\.[0-9]+`)
	tokens    = regexp.MustCompile(`(http://127\.0\.0\.1:[0-9]+/[a-z]+/)[A-Za-z0-9_-]+`)
	// Not digests of images, which are the same in every run.
	ids = regexp.MustCompile(`(sha256:)?[0-9a-f]{64}`)
)

// Numbers ids in the order in which they are first seen, so that two runs have the same.
type alike map[string]string

func (known alike) text(text string) string {
	text = moments.ReplaceAllString(text, `"$1":0`)
	text = amounts.ReplaceAllString(text, `"value":0`)
	text = addresses.ReplaceAllString(text, "an address")
	text = tokens.ReplaceAllString(text, "${1}token")
	// protojson varies its blanks on purpose.
	text = strings.ReplaceAll(text, `": `, `":`)
	text = strings.ReplaceAll(text, `, "`, `,"`)
	// What is measured may be zero, which is not written, or not be known yet: none of it is compared.
	for before := ""; before != text; {
		before = text
		text = strings.ReplaceAll(measured.ReplaceAllString(text, ""), ",}", "}")
	}
	return ids.ReplaceAllStringFunc(text, func(id string) string {
		if strings.HasPrefix(id, "sha256:") {
			return id
		}
		if known[id] == "" {
			known[id] = fmt.Sprintf("id%d", len(known))
		}
		return known[id]
	})
}

// containerd lists in the order of a map, which is another each time.
func sortLists(message protoreflect.Message) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.IsList() && field.Message() != nil {
			list := value.List()
			items := make([]protoreflect.Value, list.Len())
			for index := range items {
				items[index] = list.Get(index)
			}
			slices.SortFunc(items, func(a, b protoreflect.Value) int {
				return strings.Compare(fmt.Sprint(a.Message().Interface()), fmt.Sprint(b.Message().Interface()))
			})
			for index, item := range items {
				list.Set(index, item)
			}
		}
		return true
	})
}

func (known alike) see(result outcome) seen {
	sortLists(result.response.ProtoReflect())
	body, _ := protojson.MarshalOptions{UseProtoNames: true}.Marshal(result.response)
	return known.seen([]string{string(body)}, result.header, result.trailer, result.status)
}

func (known alike) seen(messages []string, header, trailer metadata.MD, result *status.Status) seen {
	for index := range messages {
		messages[index] = known.text(messages[index])
	}
	details := []string{}
	for _, detail := range result.Details() {
		details = append(details, fmt.Sprint(detail))
	}
	message := known.text(result.Message())
	if result.Code() == codes.DeadlineExceeded && strings.HasPrefix(message, "stream terminated by RST_STREAM") {
		// The server's clock was a moment before the client's.
		message = "context deadline exceeded"
	}
	return seen{messages, header, trailer, result.Code().String(), message, details}
}

// Every call that containerd serves, and some that it does not, over the life of a pod.
func calls(connection *grpc.ClientConn, image, group string) ([]string, []seen, error) {
	known, pod, container := alike{}, "", ""
	names, all := []string{}, []seen{}
	var failure error
	do := func(name string, request map[string]any) outcome {
		if request == nil {
			request = map[string]any{}
		}
		if failure != nil {
			return outcome{}
		}
		body, _ := json.Marshal(request)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		result, err := invoke(ctx, connection, name, body)
		if err != nil {
			failure = err
			return result
		}
		names, all = append(names, name), append(all, known.see(result))
		return result
	}
	field := func(result outcome, name string) string {
		if failure != nil || result.status.Err() != nil {
			failure = errors.Join(failure, result.status.Err())
			return ""
		}
		message := result.response.ProtoReflect()
		return message.Get(message.Descriptor().Fields().ByName(protoreflect.Name(name))).String()
	}
	sandbox := map[string]any{
		"metadata":      map[string]any{"name": "differential", "uid": "uid-1", "namespace": "default"},
		"log_directory": "/tmp",
		"labels":        map[string]any{"app": "differential"},
		"annotations":   map[string]any{"note": "söö"},
		"linux":         map[string]any{"cgroup_parent": group, "security_context": map[string]any{"namespace_options": map[string]any{"network": "NODE"}}},
	}
	for _, name := range []string{"Version", "Status", "RuntimeConfig", "ListPodSandbox", "ListContainers", "ListImages", "ImageFsInfo", "UpdateRuntimeConfig", "ListMetricDescriptors", "ListPodSandboxMetrics"} {
		do(name, nil)
	}
	do("ImageStatus", map[string]any{"image": map[string]any{"image": image}})
	do("ImageStatus", map[string]any{"image": map[string]any{"image": "nowhere.invalid/x:1"}})
	do("RemoveImage", map[string]any{"image": map[string]any{"image": "nowhere.invalid/x:1"}})
	do("PullImage", map[string]any{"image": map[string]any{"image": "!nonsense!"}})
	pod = field(do("RunPodSandbox", map[string]any{"config": sandbox}), "pod_sandbox_id")
	byPod, withPod := map[string]any{"pod_sandbox_id": pod}, func(more map[string]any) map[string]any {
		more["pod_sandbox_id"] = pod
		return more
	}
	do("PodSandboxStatus", byPod)
	do("ListPodSandbox", nil)
	container = field(do("CreateContainer", withPod(map[string]any{
		"sandbox_config": sandbox,
		"config": map[string]any{
			"metadata": map[string]any{"name": "main"},
			"image":    map[string]any{"image": image},
			"command":  []string{"sh", "-c", "trap 'exit 3' TERM; while :; do sleep 0.1; done"},
			"envs":     []any{map[string]any{"key": "A", "value": "b=c"}},
			"labels":   map[string]any{"io.kubernetes.container.name": "main"},
			"log_path": "differential.log",
			"linux":    map[string]any{"resources": map[string]any{"cpu_shares": "512", "memory_limit_in_bytes": "67108864"}},
		},
	})), "container_id")
	byContainer, withContainer := map[string]any{"container_id": container}, func(more map[string]any) map[string]any {
		more["container_id"] = container
		return more
	}
	do("StartContainer", byContainer)
	do("StartContainer", byContainer)
	do("ContainerStatus", byContainer)
	do("ListContainers", nil)
	do("UpdateContainerResources", withContainer(map[string]any{"linux": map[string]any{"cpu_shares": "1024"}}))
	do("ExecSync", withContainer(map[string]any{"cmd": []string{"sh", "-c", "echo out; echo err >&2; exit 7"}, "timeout": "10"}))
	do("ExecSync", withContainer(map[string]any{"cmd": []string{"sleep", "9"}, "timeout": "1"}))
	do("Exec", withContainer(map[string]any{"cmd": []string{"true"}, "stdout": true}))
	do("Attach", withContainer(map[string]any{"stdout": true}))
	do("PortForward", withPod(map[string]any{"port": []int{80}}))
	do("ReopenContainerLog", byContainer)
	do("ContainerStats", byContainer)
	do("ListContainerStats", nil)
	do("PodSandboxStats", byPod)
	do("ListPodSandboxStats", nil)
	do("CheckpointContainer", byContainer)
	do("UpdatePodSandboxResources", byPod)
	do("RemoveContainer", map[string]any{"container_id": "absent"})
	do("StopContainer", map[string]any{"container_id": "absent"})
	do("ContainerStatus", map[string]any{"container_id": "absent"})
	do("StopContainer", withContainer(map[string]any{"timeout": "5"}))
	do("StopContainer", withContainer(map[string]any{"timeout": "5"}))
	do("ContainerStatus", byContainer)
	do("RemoveContainer", byContainer)
	do("RemoveContainer", byContainer)
	do("StopPodSandbox", byPod)
	do("StopPodSandbox", byPod)
	do("RemovePodSandbox", byPod)
	do("PodSandboxStatus", byPod)
	more, rest := raws(connection, known)
	return append(names, more...), append(all, rest...), failure
}

// Calls that no message of ours describes: an old version, and what nobody serves.
func raws(connection *grpc.ClientConn, known alike) ([]string, []seen) {
	names := []string{
		"/runtime.v1alpha2.RuntimeService/Version", "/runtime.v1alpha2.RuntimeService/Status",
		runtimeService + "NotYetInvented", "/runtime.v9.RuntimeService/Version", "/not.a.Service/AtAll",
	}
	all := []seen{}
	for _, name := range names {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		request, response, header, trailer := []byte{}, []byte{}, metadata.MD{}, metadata.MD{}
		err := connection.Invoke(ctx, name, &request, &response, grpc.ForceCodec(raw{}), grpc.Header(&header), grpc.Trailer(&trailer))
		cancel()
		all = append(all, known.seen([]string{fmt.Sprintf("%q", response)}, header, trailer, status.Convert(err)))
	}
	return names, all
}

// Streams, huge messages, errors and time-outs on the echo.
func streams(connection *grpc.ClientConn) ([]string, []seen, error) {
	names, all, known := []string{}, []seen{}, alike{}
	do := func(name string, timeout time.Duration, messages ...[]byte) error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if timeout > 0 {
			ctx, cancel = context.WithTimeout(context.Background(), timeout)
		}
		defer cancel()
		ctx = metadata.AppendToOutgoingContext(ctx, "binary-bin", string([]byte{0, 255, 10}), "many", "1", "many", "2", "zlong", strings.Repeat("h", 20_000))
		stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/echo.Echo/"+name, grpc.ForceCodec(raw{}))
		if err != nil {
			return err
		}
		received := []string{}
		for _, message := range messages {
			if err := stream.SendMsg(&message); err != nil {
				break
			}
			if strings.HasPrefix(name, "Echo") {
				var answer []byte
				if err := stream.RecvMsg(&answer); err != nil {
					break
				}
				received = append(received, digest(answer))
			}
		}
		if err := stream.CloseSend(); err != nil {
			return err
		}
		var end error
		for {
			var answer []byte
			if end = stream.RecvMsg(&answer); end != nil {
				break
			}
			received = append(received, digest(answer))
		}
		if errors.Is(end, io.EOF) {
			end = nil
		}
		header, _ := stream.Header()
		names, all = append(names, name), append(all, known.seen(received, header, stream.Trailer(), status.Convert(end)))
		return nil
	}
	one, huge := []byte{1}, make([]byte, 17<<20)
	failures := []error{
		do("Echo", 0), do("Echo", 0, one), do("Echo", 0, []byte{}, one, one, one), do("Echo", 0, huge), do("Drain", 0, huge, huge),
		do("Send1", 0), do(fmt.Sprint("Send", 16<<20), 0), do("Silent", 0, one),
		do("Wait", 300*time.Millisecond), do("Wait", 300*time.Millisecond, one),
	}
	for code := range 17 {
		failures = append(failures, do(fmt.Sprint("Fail", code), 0, one), do(fmt.Sprint("Half", code+17), 0, one))
	}
	many := make([][]byte, 500)
	for index := range many {
		many[index] = []byte(fmt.Sprint("message ", index))
	}
	failures = append(failures, do("Echo", 0, many...), do("Slow", 0, many...))
	more, rest := raws(connection, known)
	return append(names, more...), append(all, rest...), errors.Join(failures...)
}

func digest(message []byte) string {
	if len(message) <= 64 {
		return fmt.Sprintf("%x", message)
	}
	return fmt.Sprintf("%d bytes that begin with %x", len(message), message[:8])
}

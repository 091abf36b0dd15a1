// A hook server as Koordinator's own plugins are: its released protocol, served by grpc-go, told by a file what to answer.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/koordinator-sh/koordinator/apis/runtime/v1alpha1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// What to answer to one hook.
type rule struct {
	// Fields of the answer.
	Response json.RawMessage `json:"response"`
	// Whether the answer repeats the request first, as koordlet's does.
	Echo bool `json:"echo"`
	// An error instead of an answer.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Milliseconds to wait before it answers.
	Delay int `json:"delay"`
}

type server struct {
	v1alpha1.UnimplementedRuntimeHookServiceServer
	rules  string
	record *os.File
	lock   sync.Mutex
}

// The rule for a hook, read from the file anew for each call.
func (s *server) rule(hook string) (rule, error) {
	text, err := os.ReadFile(s.rules)
	if os.IsNotExist(err) {
		return rule{Echo: true}, nil
	}
	if err != nil {
		return rule{}, err
	}
	rules := map[string]rule{}
	if err := json.Unmarshal(text, &rules); err != nil {
		return rule{}, err
	}
	if found, ok := rules[hook]; ok {
		return found, nil
	}
	return rule{Echo: true}, nil
}

// Writes one line for each call, so that a test can read what a plugin was shown.
func (s *server) note(hook string, request proto.Message) error {
	body, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(request)
	if err != nil {
		return err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	line, err := json.Marshal(map[string]any{"hook": hook, "request": json.RawMessage(body)})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.record, "%s\n", line)
	return err
}

func (s *server) answer(ctx context.Context, request proto.Message, echo proto.Message) error {
	method, _ := grpc.Method(ctx)
	hook := strings.TrimSuffix(path.Base(method), "Hook")
	if err := s.note(hook, request); err != nil {
		return err
	}
	rule, err := s.rule(hook)
	if err != nil {
		return err
	}
	select {
	case <-time.After(time.Duration(rule.Delay) * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	if rule.Code != "" {
		var code codes.Code
		if err := code.UnmarshalJSON([]byte(`"` + rule.Code + `"`)); err != nil {
			return err
		}
		return status.Error(code, rule.Message)
	}
	if !rule.Echo {
		proto.Reset(echo)
	}
	if rule.Response != nil {
		changes := echo.ProtoReflect().New().Interface()
		if err := protojson.Unmarshal(rule.Response, changes); err != nil {
			return err
		}
		proto.Merge(echo, changes)
	}
	return nil
}

func (s *server) pod(ctx context.Context, r *v1alpha1.PodSandboxHookRequest) (*v1alpha1.PodSandboxHookResponse, error) {
	answer := &v1alpha1.PodSandboxHookResponse{
		Labels: r.Labels, Annotations: r.Annotations, CgroupParent: r.CgroupParent, Resources: r.Resources,
	}
	return answer, s.answer(ctx, r, answer)
}

func (s *server) container(ctx context.Context, r *v1alpha1.ContainerResourceHookRequest) (*v1alpha1.ContainerResourceHookResponse, error) {
	answer := &v1alpha1.ContainerResourceHookResponse{
		ContainerAnnotations: r.ContainerAnnotations, ContainerResources: r.ContainerResources,
		PodCgroupParent: r.PodCgroupParent, ContainerEnvs: r.ContainerEnvs,
	}
	return answer, s.answer(ctx, r, answer)
}

func (s *server) PreRunPodSandboxHook(ctx context.Context, r *v1alpha1.PodSandboxHookRequest) (*v1alpha1.PodSandboxHookResponse, error) {
	return s.pod(ctx, r)
}

func (s *server) PostStopPodSandboxHook(ctx context.Context, r *v1alpha1.PodSandboxHookRequest) (*v1alpha1.PodSandboxHookResponse, error) {
	return s.pod(ctx, r)
}

func (s *server) PreCreateContainerHook(ctx context.Context, r *v1alpha1.ContainerResourceHookRequest) (*v1alpha1.ContainerResourceHookResponse, error) {
	return s.container(ctx, r)
}

func (s *server) PreStartContainerHook(ctx context.Context, r *v1alpha1.ContainerResourceHookRequest) (*v1alpha1.ContainerResourceHookResponse, error) {
	return s.container(ctx, r)
}

func (s *server) PostStartContainerHook(ctx context.Context, r *v1alpha1.ContainerResourceHookRequest) (*v1alpha1.ContainerResourceHookResponse, error) {
	return s.container(ctx, r)
}

func (s *server) PostStopContainerHook(ctx context.Context, r *v1alpha1.ContainerResourceHookRequest) (*v1alpha1.ContainerResourceHookResponse, error) {
	return s.container(ctx, r)
}

func (s *server) PreUpdateContainerResourcesHook(ctx context.Context, r *v1alpha1.ContainerResourceHookRequest) (*v1alpha1.ContainerResourceHookResponse, error) {
	return s.container(ctx, r)
}

func main() {
	socket := flag.String("listen", "", "unix socket to listen on")
	rules := flag.String("rules", "", "file with what to answer: a JSON object by hook")
	record := flag.String("record", "", "file that gets a line for each call")
	flag.Parse()
	file, err := os.OpenFile(*record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	_ = os.Remove(*socket)
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		log.Fatal(err)
	}
	hooks := grpc.NewServer()
	v1alpha1.RegisterRuntimeHookServiceServer(hooks, &server{rules: *rules, record: file})
	log.Fatal(hooks.Serve(listener))
}

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A runtime that answers at once, so that what is measured is what stands before it.
type floor struct {
	cri.UnimplementedRuntimeServiceServer
}

func (floor) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "floor", RuntimeVersion: "1", RuntimeApiVersion: "v1"}, nil
}

func (floor) ListPodSandbox(context.Context, *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	return &cri.ListPodSandboxResponse{}, nil
}

func (floor) ListContainers(context.Context, *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	return &cri.ListContainersResponse{}, nil
}

func (floor) RunPodSandbox(_ context.Context, r *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	return &cri.RunPodSandboxResponse{PodSandboxId: r.Config.Metadata.Uid}, nil
}

func serveFloor(arguments []string) error {
	flags := flag.NewFlagSet("floor", flag.ExitOnError)
	socket := flags.String("listen", "", "unix socket to listen on")
	_ = flags.Parse(arguments)
	_ = os.Remove(*socket)
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, floor{})
	return server.Serve(listener)
}

// Makes one kind of call so many times, and prints how long each took.
func bench(arguments []string) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	socket := flags.String("socket", "", "unix socket of the runtime")
	name := flags.String("method", "Version", "Version or RunPodSandbox")
	calls := flags.Int("calls", 1000, "calls in all")
	workers := flags.Int("workers", 1, "calls at the same time")
	_ = flags.Parse(arguments)
	connection, err := dial(*socket)
	if err != nil {
		return err
	}
	client := cri.NewRuntimeServiceClient(connection)
	invoke := func(number int) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if *name == "Version" {
			_, err := client.Version(ctx, &cri.VersionRequest{Version: "v1"})
			return err
		}
		// A few pods again and again: what is remembered of them must not be what is measured.
		pod := fmt.Sprintf("pod-%d", number%100)
		_, err := client.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: &cri.PodSandboxConfig{
			Metadata:    &cri.PodSandboxMetadata{Name: pod, Uid: pod, Namespace: "bench"},
			Labels:      map[string]string{"app": "web", "io.kubernetes.pod.name": pod},
			Annotations: map[string]string{"kubernetes.io/config.source": "api"},
			Linux:       &cri.LinuxPodSandboxConfig{CgroupParent: "/kubepods/pod" + pod},
		}})
		return err
	}
	if err := invoke(0); err != nil {
		return err
	}
	took := make([]time.Duration, *calls)
	errors := make([]error, *workers)
	var group sync.WaitGroup
	begun := time.Now()
	for worker := range *workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := worker; number < *calls; number += *workers {
				start := time.Now()
				if err := invoke(number); err != nil {
					errors[worker] = err
					return
				}
				took[number] = time.Since(start)
			}
		}()
	}
	group.Wait()
	elapsed := time.Since(begun)
	for _, err := range errors {
		if err != nil {
			return err
		}
	}
	slices.Sort(took)
	line, err := json.Marshal(map[string]any{
		"p50": took[*calls/2].Nanoseconds(), "p99": took[*calls*99/100].Nanoseconds(),
		"rate": float64(*calls) / elapsed.Seconds(),
	})
	fmt.Println(string(line))
	return err
}

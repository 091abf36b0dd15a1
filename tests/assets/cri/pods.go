package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Starts so many pods at once, each with a container, prints how long they took until they ran, and takes them away.
func pods(arguments []string) error {
	flags := flag.NewFlagSet("pods", flag.ExitOnError)
	socket := flags.String("socket", "", "unix socket of the runtime")
	count := flags.Int("count", 30, "pods")
	cgroup := flags.String("cgroup", "", "cgroup parent of the pods")
	image := flags.String("image", "", "image of the containers")
	_ = flags.Parse(arguments)
	connection, err := dial(*socket)
	if err != nil {
		return err
	}
	client := cri.NewRuntimeServiceClient(connection)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	made, took, errors := make([]string, *count), make([]time.Duration, *count), make([]error, *count)
	var group sync.WaitGroup
	begun := time.Now()
	for number := range *count {
		group.Add(1)
		go func() {
			defer group.Done()
			start := time.Now()
			made[number], errors[number] = runPod(ctx, client, number, *cgroup, *image)
			took[number] = time.Since(start)
		}()
	}
	group.Wait()
	all := time.Since(begun)
	var sum time.Duration
	for number := range *count {
		if errors[number] != nil {
			return errors[number]
		}
		sum += took[number]
		if _, err := client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: made[number]}); err != nil {
			return err
		}
		if _, err := client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: made[number]}); err != nil {
			return err
		}
	}
	line, err := json.Marshal(map[string]any{"sum": sum.Nanoseconds(), "all": all.Nanoseconds()})
	fmt.Println(string(line))
	return err
}

func runPod(ctx context.Context, client cri.RuntimeServiceClient, number int, cgroup, image string) (string, error) {
	name := fmt.Sprintf("pod-%d", number)
	sandbox := &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: name, Uid: name, Namespace: "bench"},
		Labels:   map[string]string{"app": "web"},
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent: cgroup,
			SecurityContext: &cri.LinuxSandboxSecurityContext{
				NamespaceOptions: &cri.NamespaceOption{Network: cri.NamespaceMode_NODE},
			},
		},
	}
	pod, err := client.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: sandbox})
	if err != nil {
		return "", err
	}
	container, err := client.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId: pod.PodSandboxId, SandboxConfig: sandbox,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "main"},
			Image:    &cri.ImageSpec{Image: image},
			Command:  []string{"sleep", "600"},
			Linux:    &cri.LinuxContainerConfig{Resources: &cri.LinuxContainerResources{CpuShares: 102}},
		},
	})
	if err != nil {
		return "", err
	}
	_, err = client.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: container.ContainerId})
	return pod.PodSandboxId, err
}

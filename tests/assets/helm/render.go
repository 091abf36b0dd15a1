package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"syscall"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// Helm has no bounds, and some cases ask for more than a machine has. So they are rendered by a second process that has
// bounds; one that reaches them is an error like any other.
const (
	renderFlag = "-render"
	mostMemory = 4 << 30
	mostTime   = 10 * time.Second
	mostOutput = 1 << 20
)

// renderer is the second process, started when needed.
type renderer struct {
	values  string
	process *exec.Cmd
	to      *json.Encoder
	from    *json.Decoder
}

func (r *renderer) start() error {
	process := exec.Command(os.Args[0], renderFlag, r.values)
	in, err := process.StdinPipe()
	if err != nil {
		return err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	r.process, r.to, r.from = process, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	return process.Start()
}

func (r *renderer) stop() {
	if r.process != nil {
		_ = r.process.Process.Kill()
		_ = r.process.Wait()
		r.process = nil
	}
}

// render asks the second process; one that dies or takes too long is the result of the template.
func (r *renderer) render(template string) (result, error) {
	if r.process == nil {
		if err := r.start(); err != nil {
			return result{}, err
		}
	}
	timer := time.AfterFunc(mostTime, func() { _ = r.process.Process.Kill() })
	defer timer.Stop()
	var answer result
	if r.to.Encode(template) == nil && r.from.Decode(&answer) == nil {
		return answer, nil
	}
	r.stop()
	message := fmt.Sprintf("takes more than %d GiB or %s", mostMemory>>30, mostTime)
	return result{Error: &message}, nil
}

// serve renders what it reads, one JSON text after the other.
func serve(file string) error {
	limit := syscall.Rlimit{Cur: mostMemory, Max: mostMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		return err
	}
	// Functions of the library may log; the truth is what they return.
	log.SetOutput(io.Discard)
	values, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	from, to := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var template string
		if err := from.Decode(&template); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		answer, err := render(template, values)
		if err != nil {
			return err
		}
		if err := to.Encode(answer); err != nil {
			return err
		}
	}
}

// render makes a chart of the one template; its values are read anew, since a template can change them.
func render(template string, values []byte) (result, error) {
	const name = "templates/case"
	defaults, err := chartutil.ReadValues(values)
	if err != nil {
		return result{}, err
	}
	whole := &chart.Chart{
		Metadata:  &chart.Metadata{Name: "truth", Version: "1.0.0", APIVersion: chart.APIVersionV2},
		Values:    defaults,
		Templates: []*chart.File{{Name: name, Data: []byte(template)}},
	}
	release := chartutil.ReleaseOptions{Name: "truth", Namespace: "default", Revision: 1, IsInstall: true}
	scope, err := chartutil.ToRenderValues(whole, nil, release, nil)
	if err != nil {
		return result{}, err
	}
	outputs, err := engine.Render(whole, scope)
	if err != nil {
		message := err.Error()
		return result{Error: &message}, nil
	}
	output := outputs["truth/"+name]
	if len(output) > mostOutput {
		message := fmt.Sprintf("writes more than %d MiB", mostOutput>>20)
		return result{Error: &message}, nil
	}
	return result{Output: &output}, nil
}

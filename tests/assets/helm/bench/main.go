// Command bench measures how long Helm's own engine takes to render many releases of one chart.
//
//	bench <chart folder> <folder with one values file per release> <rounds>
//
// The chart is loaded once and the values of every release are merged beforehand: only `engine.Render` is on the clock,
// one release after the other, as the renderer is measured. It prints one JSON object with the nanoseconds on cores of
// each round, once on one thread and once with as many as Go takes by itself, and the most memory it ever had.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

const (
	namespace  = "bench"
	kubernetes = "v1.35.0"
)

type measured struct {
	Releases  int     `json:"releases"`
	Bytes     int     `json:"bytes"`
	OneThread []int64 `json:"oneThread"`
	Default   []int64 `json:"default"`
	PeakKiB   int64   `json:"peakKiB"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 3 {
		return fmt.Errorf("usage: bench <chart folder> <values folder> <rounds>")
	}
	rounds, err := strconv.Atoi(arguments[2])
	if err != nil {
		return err
	}
	whole, err := loader.LoadDir(arguments[0])
	if err != nil {
		return err
	}
	releases, err := read(whole, arguments[1])
	if err != nil {
		return err
	}
	result := measured{Releases: len(releases)}
	all := runtime.GOMAXPROCS(1)
	if result.OneThread, result.Bytes, err = measure(whole, releases, rounds); err != nil {
		return err
	}
	runtime.GOMAXPROCS(all)
	if result.Default, _, err = measure(whole, releases, rounds); err != nil {
		return err
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	result.PeakKiB = usage.Maxrss
	return json.NewEncoder(os.Stdout).Encode(result)
}

// read gives what the templates of each release see.
func read(whole *chart.Chart, folder string) ([]chartutil.Values, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: kubernetes, Major: "1", Minor: "35"}
	var releases []chartutil.Values
	for _, file := range files {
		values, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		options := chartutil.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}
		scope, err := chartutil.ToRenderValues(whole, values, options, capabilities)
		if err != nil {
			return nil, err
		}
		releases = append(releases, scope)
	}
	return releases, nil
}

// measure renders all releases in each round, after one that is not counted.
func measure(whole *chart.Chart, releases []chartutil.Values, rounds int) ([]int64, int, error) {
	var took []int64
	bytes := 0
	for round := 0; round <= rounds; round++ {
		bytes = 0
		begin, err := onCores()
		if err != nil {
			return nil, 0, err
		}
		for _, release := range releases {
			outputs, err := engine.Render(whole, release)
			if err != nil {
				return nil, 0, err
			}
			for _, output := range outputs {
				bytes += len(output)
			}
		}
		end, err := onCores()
		if err != nil {
			return nil, 0, err
		}
		if round > 0 {
			took = append(took, end-begin)
		}
	}
	return took, bytes, nil
}

// onCores is how long this process was on cores: a busy machine does not stretch it.
func onCores() (int64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return usage.Utime.Nano() + usage.Stime.Nano(), nil
}

// Command helm prints what Helm's own engine makes of the conformance cases of the renderer.
//
//	helm <folder with cases/ and values.yaml>
//
// Each case is rendered as the only template of a chart of its own, so that one that fails hides no other. The result is
// one JSON object, from the Go template of a case to what came of it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	arrow   = " => "
	differs = "differs"
	bar     = " | "
	between = "\n=====\n"
)

type result struct {
	Output *string `json:"output,omitempty"`
	Error  *string `json:"error,omitempty"`
}

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == renderFlag:
		err = serve(os.Args[2])
	case len(os.Args) == 2:
		err = run(os.Args[1])
	default:
		err = fmt.Errorf("usage: helm <folder with cases/ and values.yaml>")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "cases", "*.txt"))
	if err != nil {
		return err
	}
	renderer := renderer{values: filepath.Join(folder, "values.yaml")}
	defer renderer.stop()
	truth := map[string]result{}
	constructs, err := filepath.Glob(filepath.Join(folder, "constructs", "*.tpl"))
	if err != nil {
		return err
	}
	for _, file := range append(files, constructs...) {
		templates, err := read(file)
		if err != nil {
			return err
		}
		for _, template := range templates {
			if truth[template], err = renderer.render(template); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(truth)
}

// read gives the Go templates of a file of cases: one per line, or as they are between lines of equals signs.
func read(file string) ([]string, error) {
	if filepath.Ext(file) == ".tpl" {
		text, err := os.ReadFile(file)
		return strings.Split(strings.TrimSuffix(string(text), "\n"), between), err
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	var templates []string
	lines := bufio.NewScanner(opened)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if rest, chosen := strings.CutPrefix(line, differs); chosen {
			_, both, found := strings.Cut(rest, bar)
			if !found {
				return nil, fmt.Errorf("%s:%d: no %q after the reason", file, number, bar)
			}
			line = both
		}
		template, _, found := strings.Cut(line, arrow)
		if !found {
			return nil, fmt.Errorf("%s:%d: no %q", file, number, arrow)
		}
		templates = append(templates, strings.TrimSpace(template))
	}
	return templates, lines.Err()
}

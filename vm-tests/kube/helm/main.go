// Command helm lints a chart and renders it with Helm's own packages: helm lint|template CHART VALUES, with VALUES as for Helm's --set.
// Helm itself brings registries, plugins and a client for the cluster, which are a quarter of an hour to build and not needed here.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/strvals"
)

// Where a chart is said to be installed.
const namespace = "careen"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "helm: %v\n", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 3 {
		return errors.New("usage: helm lint|template CHART VALUES")
	}
	values, err := strvals.Parse(arguments[2])
	if err != nil {
		return err
	}
	switch arguments[0] {
	case "lint":
		return linted(arguments[1], values)
	case "template":
		return rendered(arguments[1], values)
	}
	return fmt.Errorf("the verb is %q; accepted are lint and template", arguments[0])
}

// As `helm lint --strict`: a warning fails, too.
func linted(chart string, values map[string]any) error {
	result := lint.RunAll(chart, values, namespace)
	for _, message := range result.Messages {
		fmt.Println(message)
	}
	if result.HighestSeverity >= support.WarningSev {
		return errors.New("the chart does not lint")
	}
	return nil
}

// As `helm template`, notes left out.
func rendered(path string, values map[string]any) error {
	chart, err := loader.Load(path)
	if err != nil {
		return err
	}
	release := common.ReleaseOptions{Name: chart.Name(), Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, nil)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := strings.TrimSpace(files[name])
		if text != "" && filepath.Ext(name) == ".yaml" {
			fmt.Printf("---\n# Source: %s\n%s\n", name, text)
		}
	}
	return nil
}

// Command helm is Helm itself, put together as in its own cmd/helm, so that it is built as all programs of the rig are: at a version that go.sum holds.
package main

import (
	"errors"
	"fmt"
	"os"

	helm "helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/kube"
)

func main() {
	// Whose the fields are that it applies.
	kube.ManagedFieldsManager = "helm"
	root, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err != nil {
		fmt.Fprintf(os.Stderr, "helm: %v\n", err)
		os.Exit(1)
	}
	if err := root.Execute(); err != nil {
		os.Exit(codeOf(err))
	}
}

// A plugin ends with a code of its own.
func codeOf(err error) int {
	var plugin helm.CommandError
	if errors.As(err, &plugin) {
		return plugin.ExitCode
	}
	return 1
}

//go:build !shim

// Command containerd is the runtime of the image whose containerd is newer than Debian's. Built with the tag "shim" it is the program
// that containerd starts beside each pod: what upstream's daemon is linked with, a shim would run as well.
package main

import (
	"fmt"
	"os"

	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins"
	"github.com/containerd/containerd/v2/cmd/containerd/command"
)

func main() {
	if err := command.App().Run(os.Args); err != nil {
		fmt.Fprintf(os.Stderr, "containerd: %s\n", err)
		os.Exit(1)
	}
}

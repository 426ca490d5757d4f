//go:build !node

package main

import (
	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func init() {
	commands["kubectl"] = cmd.NewDefaultKubectlCommand
	commands["kube-apiserver"] = apiserver.NewAPIServerCommand
	commands["kube-controller-manager"] = manager.NewControllerManagerCommand
	commands["kube-scheduler"] = func() *cobra.Command { return scheduler.NewSchedulerCommand() }
}

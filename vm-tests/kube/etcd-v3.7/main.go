// Command etcd is the store of a control plane whose etcd takes a minor step, built from its own Go module.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}

module careen.dev/vm-tests/cluster-api

go 1.26.0

tool (
	sigs.k8s.io/cluster-api
	sigs.k8s.io/cluster-api/bootstrap/kubeadm
	sigs.k8s.io/cluster-api/controlplane/kubeadm
	sigs.k8s.io/cluster-api/test/infrastructure/docker
)

require (
	sigs.k8s.io/cluster-api v1.13.6
	sigs.k8s.io/cluster-api/test v1.13.4
)

// Command csi is the node service of a CSI driver whose volumes are folders, and its registration with the kubelet.
// It listens on TCP; in the guest, systemd's socket proxy leads from SOCKET to it: csi ADDRESS SOCKET NAME NODE.
package main

import (
	"context"
	"log"
	"net"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// node has no capabilities, so the kubelet neither stages nor measures volumes.
type node struct {
	csi.UnimplementedNodeServer
	name string
}

func (n *node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.name}, nil
}

func (*node) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume mounts nothing: the scenario has made the folder.
func (*node) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	log.Printf("publish %s", request.TargetPath)
	return &csi.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume leaves the folder to the kubelet, which removes it when it is empty.
func (*node) NodeUnpublishVolume(_ context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	log.Printf("unpublish %s", request.TargetPath)
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

type plugin struct {
	registration.UnimplementedRegistrationServer
	name, socket string
}

func (p *plugin) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type:              registration.CSIPlugin,
		Name:              p.name,
		Endpoint:          p.socket,
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (*plugin) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	log.Printf("registered: %v %s", status.PluginRegistered, status.Error)
	return &registration.RegistrationStatusResponse{}, nil
}

func main() {
	if len(os.Args) != 5 {
		log.Fatal("csi ADDRESS SOCKET NAME NODE")
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	registration.RegisterRegistrationServer(server, &plugin{name: os.Args[3], socket: os.Args[2]})
	csi.RegisterNodeServer(server, &node{name: os.Args[4]})
	log.Fatal(server.Serve(listener))
}

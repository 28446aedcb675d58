// Command check reads the files of a deployment with the programs' own code: the Dockerfile as BuildKit does, the compose
// file as `docker compose` does, the Kubernetes base and its components as `kubectl apply --kustomize` does, with unknown
// fields refused, and custom resources as kubeconform does.
// It prints one line for each thing that is wrong, and exits with 1 when there is one.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	root := os.Args[1]
	problems := append(checkDockerfile(root), checkCompose(root)...)
	problems = append(problems, checkKubernetes(root)...)
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

func checkDockerfile(root string) (problems []string) {
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		return []string{err.Error()}
	}
	lint := linter.New(&linter.Config{
		Warn: func(rule, _, _, message string, _ []parser.Range) {
			problems = append(problems, fmt.Sprintf("Dockerfile: %s: %s", rule, message))
		},
	})
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return append(problems, "Dockerfile: "+err.Error())
	}
	for _, warning := range parsed.Warnings {
		problems = append(problems, "Dockerfile: "+warning.Short)
	}
	if _, _, err := instructions.Parse(parsed.AST, lint); err != nil {
		problems = append(problems, "Dockerfile: "+err.Error())
	}
	return problems
}

func checkCompose(root string) (problems []string) {
	options, err := cli.NewProjectOptions(
		[]string{filepath.Join(root, "docker-compose.yml")},
		cli.WithWorkingDirectory(root), cli.WithDefaultProfiles("*"), cli.WithInterpolation(true),
	)
	if err != nil {
		return []string{err.Error()}
	}
	if _, err := options.LoadProject(context.Background()); err != nil {
		problems = append(problems, "docker-compose.yml: "+err.Error())
	}
	return problems
}

// What an overlay may add to the base, one set of components for each way that is checked.
var overlays = [][]string{
	{},
	{"desk", "store", "notices", "network-policy", "prometheus", "keda"},
	{"desk", "store", "notices", "network-policy", "prometheus", "worker-controller"},
}

func checkKubernetes(root string) (problems []string) {
	builtIn := 0
	var custom [][]byte
	for _, components := range overlays {
		resources, err := build(root, components)
		if err != nil {
			problems = append(problems, fmt.Sprintf("deploy/kubernetes %v: %v", components, err))
			continue
		}
		strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
		for _, resource := range resources.Resources() {
			text, err := resource.AsYAML()
			if err == nil {
				_, _, err = strict.Decode(text, nil, nil)
			}
			if runtime.IsNotRegisteredError(err) {
				custom = append(custom, text)
			} else if builtIn += 1; err != nil {
				problems = append(problems, fmt.Sprintf("deploy/kubernetes: %s %s: %v", resource.GetKind(), resource.GetName(), err))
			}
		}
	}
	fmt.Fprintf(os.Stderr, "%d Kubernetes objects read, %d custom ones\n", builtIn, len(custom))
	return append(problems, checkCustom(custom)...)
}

// build makes the objects of an overlay with these components, as a user of the base writes one.
func build(root string, components []string) (resmap.ResMap, error) {
	overlay := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../deploy/kubernetes]\n"
	for i, name := range components {
		if i == 0 {
			overlay += "components:\n"
		}
		overlay += "  - ../deploy/kubernetes/components/" + name + "\n"
	}
	folder := filepath.Join(root, "overlay")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		return nil, err
	}
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
}

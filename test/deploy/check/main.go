// Command check reads the files of a deployment with the programs' own code: the Dockerfile as BuildKit does, the compose
// file as `docker compose` does, and the Kubernetes base as `kubectl apply --kustomize` does, with unknown fields refused.
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

func checkKubernetes(root string) (problems []string) {
	kustomizer := krusty.MakeKustomizer(krusty.MakeDefaultOptions())
	resources, err := kustomizer.Run(filesys.MakeFsOnDisk(), filepath.Join(root, "deploy/kubernetes"))
	if err != nil {
		return []string{"deploy/kubernetes: " + err.Error()}
	}
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		if err == nil {
			_, _, err = strict.Decode(text, nil, nil)
		}
		if runtime.IsStrictDecodingError(err) || err != nil {
			problems = append(problems, fmt.Sprintf("deploy/kubernetes: %s %s: %v", resource.GetKind(), resource.GetName(), err))
		}
	}
	fmt.Fprintf(os.Stderr, "%d Kubernetes objects read\n", len(resources.Resources()))
	return problems
}

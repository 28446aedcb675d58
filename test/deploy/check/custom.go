package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const kubeconform = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"

// Where the custom resource definitions of the components are published: Go modules, and the files in them.
const published = "../../../dev/faults/counterparts/programs/kubernetes/definitions.json"

type definition struct {
	Spec struct {
		Group    string
		Names    struct{ Kind string }
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema map[string]any }
		}
	}
}

// checkCustom has kubeconform compare custom resources with the schemas of their definitions, unknown fields refused.
func checkCustom(resources [][]byte) (problems []string) {
	var definitions map[string]string
	text, err := os.ReadFile(published)
	if err := errors.Join(err, json.Unmarshal(text, &definitions)); err != nil {
		return []string{published + ": " + err.Error()}
	}
	folder, err := os.MkdirTemp("", "faretrail-schemas-")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(folder)
	for module, files := range definitions {
		if err := writeSchemas(folder, module, files); err != nil {
			return []string{module + ": " + err.Error()}
		}
	}
	check := exec.Command("go", "run", kubeconform, "-strict", "-schema-location",
		filepath.Join(folder, "{{.Group}}_{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"))
	check.Stdin = bytes.NewReader(bytes.Join(resources, []byte("\n---\n")))
	told, err := check.CombinedOutput()
	if err != nil {
		return append(strings.Split(strings.TrimSpace(string(told)), "\n"), "kubeconform: "+err.Error())
	}
	return nil
}

func writeSchemas(folder, module, files string) error {
	told, err := exec.Command("go", "mod", "download", "-json", module).Output()
	var found struct{ Dir, Error string }
	if err := errors.Join(err, json.Unmarshal(told, &found)); err != nil {
		return fmt.Errorf("%w %s", err, found.Error)
	}
	paths, err := filepath.Glob(filepath.Join(found.Dir, files))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("has no %s: %v", files, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var one definition
		// Charts leave a definition out by a template around it.
		if err := yaml.Unmarshal(withoutTemplates(text), &one); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, version := range one.Spec.Versions {
			schema, err := json.Marshal(closed(version.Schema.OpenAPIV3Schema))
			if err != nil {
				return err
			}
			name := strings.ToLower(fmt.Sprintf("%s_%s_%s.json", one.Spec.Group, one.Spec.Names.Kind, version.Name))
			if err := os.WriteFile(filepath.Join(folder, name), schema, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func withoutTemplates(text []byte) []byte {
	var kept [][]byte
	for _, line := range bytes.Split(text, []byte("\n")) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{{")) {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, []byte("\n"))
}

// closed makes a schema of OpenAPI refuse the fields that it does not name, as a server of Kubernetes does with strict validation.
func closed(value any) any {
	switch one := value.(type) {
	case []any:
		for i, item := range one {
			one[i] = closed(item)
		}
	case map[string]any:
		properties, names := one["properties"].(map[string]any)
		if names && one["type"] == "object" && one["x-kubernetes-preserve-unknown-fields"] != true {
			one["additionalProperties"] = false
		}
		for name, item := range one {
			if name != "properties" {
				one[name] = closed(item)
			}
		}
		for name, item := range properties {
			properties[name] = closed(item)
		}
		if one["x-kubernetes-int-or-string"] == true {
			delete(one, "type")
		}
	}
	return value
}

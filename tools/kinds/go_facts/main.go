// go_facts prints what OpenAPI does not say about the fields of the built-in types: whether a zero value is left out
// of the JSON, whether the field is a pointer (so that a zero can be told from "not given"), and its number in
// protobuf. Output: one JSON object, definition name -> field -> {"omit": bool, "pointer": bool,
// "kind": "string|number|bool|list|map|struct|any", "type": the Go type as decode errors name it, "protobuf": the
// numbers on the way to the field: one, or two where JSON has a field in place that protobuf has in a message of its
// own; none for apiVersion and kind, which are in the envelope}.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"

	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type fact struct {
	Omit     bool   `json:"omit"`
	Pointer  bool   `json:"pointer"`
	Kind     string `json:"kind"`
	Type     string `json:"type"`
	Protobuf []int  `json:"protobuf,omitempty"`
}

var facts = map[string]map[string]fact{}

func definitionName(t reflect.Type) string {
	parts := strings.SplitN(t.PkgPath(), "/", 2)
	labels := strings.Split(parts[0], ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	name := strings.Join(labels, ".")
	if len(parts) > 1 {
		name += "." + strings.ReplaceAll(parts[1], "/", ".")
	}
	return name + "." + t.Name()
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string"
		}
		return "list"
	case reflect.Map:
		return "map"
	case reflect.Struct:
		return "struct"
	case reflect.Interface:
		return "any"
	}
	return "number"
}

func visit(t reflect.Type) {
	switch t.Kind() {
	case reflect.Ptr, reflect.Slice, reflect.Map:
		visit(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	name := definitionName(t)
	if _, seen := facts[name]; seen {
		return
	}
	facts[name] = map[string]fact{}
	fields(t, []int{}, facts[name])
}

// The numbers on the way to a field of the message at `outer`; nil when it is not in protobuf.
func protobufPath(outer []int, f reflect.StructField) []int {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if outer == nil || len(parts) < 2 {
		return nil
	}
	number, err := strconv.Atoi(parts[1])
	if err != nil {
		panic(f.Name + ": its protobuf tag has no number")
	}
	return append(append([]int{}, outer...), number)
}

func fields(t reflect.Type, outer []int, into map[string]fact) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" || (!f.IsExported() && !f.Anonymous) {
			continue
		}
		if f.Anonymous && tag == "" {
			inner := f.Type
			if inner.Kind() == reflect.Ptr {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				fields(inner, protobufPath(outer, f), into)
			}
			continue
		}
		if tag == "" {
			continue
		}
		pointer := f.Type.Kind() == reflect.Ptr
		inner := f.Type
		if pointer {
			inner = inner.Elem()
		}
		into[tag] = fact{Omit: strings.Contains(options, "omitempty"), Pointer: pointer, Kind: kindOf(inner), Type: inner.String(),
			Protobuf: protobufPath(outer, f)}
		visit(f.Type)
	}
}

func main() {
	for _, root := range []any{
		core.Namespace{}, core.Node{}, core.Pod{}, core.PodTemplate{}, core.Service{}, core.Endpoints{}, core.ConfigMap{},
		core.Secret{}, core.ServiceAccount{}, core.Event{}, core.PersistentVolume{}, core.PersistentVolumeClaim{}, core.Binding{},
		apps.Deployment{}, apps.ReplicaSet{}, apps.StatefulSet{}, batch.Job{}, scheduling.PriorityClass{},
		policy.PodDisruptionBudget{}, policy.Eviction{}, coordination.Lease{}, events.Event{}, discovery.EndpointSlice{},
		rbac.Role{}, rbac.RoleBinding{}, rbac.ClusterRole{}, rbac.ClusterRoleBinding{},
		authentication.TokenReview{}, authentication.SelfSubjectReview{}, authentication.TokenRequest{},
		authorization.SubjectAccessReview{}, authorization.SelfSubjectAccessReview{},
		authorization.SelfSubjectRulesReview{}, authorization.LocalSubjectAccessReview{},
		storage.StorageClass{}, apiextensions.CustomResourceDefinition{}, autoscaling.Scale{},
		meta.Status{}, meta.DeleteOptions{}, meta.WatchEvent{}, meta.ListMeta{},
	} {
		visit(reflect.TypeOf(root))
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(facts); err != nil {
		os.Exit(1)
	}
}

package deploy

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// manifests are the objects of the file.
type manifests struct {
	text         []byte
	deployments  []apps.Deployment
	sets         []apps.StatefulSet
	services     []core.Service
	policies     []networking.NetworkPolicy
	disruptions  []policy.PodDisruptionBudget
	byRole       map[string]core.PodSpec
	labelsOfPods map[string]map[string]string
}

// read decodes every object strictly: an unknown field is an error.
func read(t *testing.T) manifests {
	t.Helper()
	text, err := os.ReadFile("kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := manifests{text: text, byRole: map[string]core.PodSpec{}, labelsOfPods: map[string]map[string]string{}}
	for _, part := range bytes.Split(text, []byte("\n---\n")) {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal(part, &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "Deployment":
			d := decode[apps.Deployment](t, part)
			m.deployments = append(m.deployments, d)
			m.pods(t, d.Name, d.Spec.Selector, d.Spec.Template)
		case "StatefulSet":
			s := decode[apps.StatefulSet](t, part)
			m.sets = append(m.sets, s)
			m.pods(t, s.Name, s.Spec.Selector, s.Spec.Template)
		case "Service":
			m.services = append(m.services, decode[core.Service](t, part))
		case "NetworkPolicy":
			m.policies = append(m.policies, decode[networking.NetworkPolicy](t, part))
		case "PodDisruptionBudget":
			m.disruptions = append(m.disruptions, decode[policy.PodDisruptionBudget](t, part))
		default:
			t.Errorf("an object of kind %q is not looked at", kind.Kind)
		}
	}
	return m
}

func decode[T any](t *testing.T, text []byte) (out T) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

func (m *manifests) pods(t *testing.T, name string, selector *meta.LabelSelector, pod core.PodTemplateSpec) {
	t.Helper()
	m.byRole[name], m.labelsOfPods[name] = pod.Spec, pod.Labels
	if !selects(t, selector, pod.Labels) {
		t.Errorf("%s does not select its own pods", name)
	}
}

func selects(t *testing.T, selector *meta.LabelSelector, on map[string]string) bool {
	t.Helper()
	s, err := meta.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(on))
}

// TestTheManifests holds that pods have probes and limits, and may do no more than they
// need.
func TestTheManifests(t *testing.T) {
	m := read(t)
	if len(m.byRole) != 3 {
		t.Fatalf("there are pods of %d kinds, want server, worker and database", len(m.byRole))
	}
	for role, pod := range m.byRole {
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || pod.SecurityContext == nil || pod.SecurityContext.RunAsNonRoot == nil || !*pod.SecurityContext.RunAsNonRoot {
			t.Errorf("%s has a token of the cluster, or runs as root", role)
		}
		mounted := map[string]bool{}
		for _, v := range pod.Volumes {
			mounted[v.Name] = true
		}
		for _, c := range pod.Containers {
			if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.StartupProbe == nil {
				t.Errorf("%s lacks a probe", role)
			} else if get := c.LivenessProbe.HTTPGet; get != nil && (get.Port.String() != "health" || c.ReadinessProbe.HTTPGet.Port.String() != "health") {
				t.Errorf("%s is asked for its health where strangers are, too", role)
			}
			if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s lacks a limit of memory or a request of cpu", role)
			}
			if s := c.SecurityContext; s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !slices.Contains(s.Capabilities.Drop, "ALL") {
				t.Errorf("%s may do more than it needs", role)
			}
			for _, v := range c.VolumeMounts {
				if !mounted[v.Name] && role != "database" {
					t.Errorf("%s mounts %s, which is not a volume", role, v.Name)
				}
			}
		}
	}
	for _, s := range m.services {
		if !selects(t, &meta.LabelSelector{MatchLabels: s.Spec.Selector}, m.labelsOfPods[s.Name]) {
			t.Errorf("the service %s does not find its pods", s.Name)
		}
	}
	for _, d := range m.disruptions {
		if !selects(t, d.Spec.Selector, m.labelsOfPods[d.Name]) {
			t.Errorf("the budget %s does not find its pods", d.Name)
		}
	}
}

// TestSecretsOfPods: a worker has no secret of the webhook, and the server no key of a
// model. Each that is named is made by the command at the head of the file.
func TestSecretsOfPods(t *testing.T) {
	m := read(t)
	made := regexp.MustCompile(`--from-(?:literal|file)=([a-z.-]+)`).FindAllSubmatch(m.text, -1)
	var keys []string
	for _, found := range made {
		keys = append(keys, string(found[1]))
	}
	for _, tt := range []struct {
		role string
		want []string
	}{
		{"server", []string{"database-url", "webhook-secret"}}, {"worker", []string{"database-url", "openai-api-key"}}, {"database", []string{"database-password"}},
	} {
		var got []string
		for _, c := range m.byRole[tt.role].Containers {
			for _, e := range c.Env {
				if e.ValueFrom != nil {
					got = append(got, e.ValueFrom.SecretKeyRef.Key)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s has the secrets %v, want %v", tt.role, got, tt.want)
		}
		for _, key := range got {
			if !slices.Contains(keys, key) {
				t.Errorf("%s needs the secret %s, which the command does not make", tt.role, key)
			}
		}
	}
}

// TestWhoReachesWhom by the network policies: all is refused but what another policy
// names.
func TestWhoReachesWhom(t *testing.T) {
	m := read(t)
	closed := false
	for _, p := range m.policies {
		all := len(p.Spec.PodSelector.MatchLabels)+len(p.Spec.PodSelector.MatchExpressions) == 0
		closed = closed || all && len(p.Spec.PolicyTypes) == 2 && len(p.Spec.Ingress)+len(p.Spec.Egress) == 0
	}
	if !closed {
		t.Error("no policy refuses what the others do not name")
	}
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"server", "database", true}, {"worker", "database", true}, {"database", "database", false},
		{"server", "worker", false}, {"worker", "server", false}, {"database", "server", false}, {"database", "worker", false},
	} {
		if got := m.reaches(t, tt.from, tt.to); got != tt.want {
			t.Errorf("that %s reaches %s is %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
}

// reaches reports whether policies let pods of one role send to another role's.
func (m *manifests) reaches(t *testing.T, from, to string) bool {
	t.Helper()
	out, in := false, false
	for _, p := range m.policies {
		if selects(t, &p.Spec.PodSelector, m.labelsOfPods[from]) {
			for _, rule := range p.Spec.Egress {
				out = out || names(t, rule.To, m.labelsOfPods[to])
			}
		}
		if selects(t, &p.Spec.PodSelector, m.labelsOfPods[to]) {
			for _, rule := range p.Spec.Ingress {
				in = in || names(t, rule.From, m.labelsOfPods[from])
			}
		}
	}
	return out && in
}

// names reports whether peers are pods of this namespace with some labels.
func names(t *testing.T, peers []networking.NetworkPolicyPeer, on map[string]string) bool {
	t.Helper()
	return slices.ContainsFunc(peers, func(p networking.NetworkPolicyPeer) bool {
		return p.NamespaceSelector == nil && p.PodSelector != nil && selects(t, p.PodSelector, on)
	})
}

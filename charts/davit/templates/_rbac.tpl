{{/* Binds a role to a service account of the release: a dict of root, name, namespace (none: cluster-wide), roleKind, account. */}}
{{- define "davit.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "RoleBinding" "ClusterRoleBinding" (hasKey . "namespace") }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "davit.labels" (dict "root" .root "component" .account) | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .roleKind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .root.Release.Name }}-{{ .account }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}

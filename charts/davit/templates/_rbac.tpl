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

{{/* Looking at what the operations API has, without bodies and headers. */}}
{{- define "davit.rules.viewer" -}}
- apiGroups: [davit.dev]
  resources: [webhookroutes/events, webhookroutes/replays, webhookdestinations/statistics]
  verbs: [get, list]
- apiGroups: [davit.dev]
  resources: [webhookroutes/deadletters, webhookroutes/rejections]
  verbs: [list]
{{- end }}

{{/* What an operator may do beyond that. */}}
{{- define "davit.rules.operator" -}}
- apiGroups: [davit.dev]
  resources: [webhookroutes/payloads]
  verbs: [get]
- apiGroups: [davit.dev]
  resources: [webhookroutes/events, webhookroutes/deadletters]
  verbs: [delete]
- apiGroups: [davit.dev]
  resources: [webhookroutes/replays]
  verbs: [create, update]
- apiGroups: [davit.dev]
  resources: [webhookdestinations/gate]
  verbs: [update]
- apiGroups: [davit.dev]
  resources: [webhookdestinations/test]
  verbs: [create]
{{- end }}

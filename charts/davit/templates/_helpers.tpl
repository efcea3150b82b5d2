{{/* Labels of every object; "component" of the dict that is handed in is optional. */}}
{{- define "davit.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: davit
{{ include "davit.selector" . }}
{{- end }}

{{/* Labels that select a component's Pods; they never change. */}}
{{- define "davit.selector" -}}
app.kubernetes.io/name: davit
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "davit.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "davit.redis.image" -}}
{{- with .Values.redis.bundled.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag }}{{- end -}}
{{- end -}}
{{- end }}

{{/* "true" when the release has a Redis of its own. */}}
{{- define "davit.redis.bundled" -}}
{{- if and .Values.redis.bundled.enabled (not .Values.redis.external.secretName) }}true{{ end -}}
{{- end }}

{{- define "davit.redis.users" -}}
{{- if .Values.redis.users -}}
{{ .Values.redis.users }}
{{- else -}}
{{ ternary "Provisioned" "Provided" (eq (include "davit.redis.bundled" .) "true") }}
{{- end -}}
{{- end }}

{{/* Secret with the Redis URLs of controller, gateway and console. */}}
{{- define "davit.redis.secretName" -}}
{{- .Values.redis.external.secretName | default .Values.redis.bundled.credentialsSecretName | default (printf "%s-redis-credentials" .Release.Name) -}}
{{- end }}

{{/*
Secret with the gateways' URL that the controller keeps: with Provisioned users of a Redis of somebody else's. Those of the bundled
Redis are in its ACL file, so that gateways need not wait for the controller.
*/}}
{{- define "davit.redis.gatewaySecretName" -}}
{{- if and (eq (include "davit.redis.users" .) "Provisioned") (ne (include "davit.redis.bundled" .) "true") -}}
davit-{{ .Values.instance }}-redis-gateway
{{- end -}}
{{- end }}

{{/* The same for the console. */}}
{{- define "davit.redis.consoleSecretName" -}}
{{- if and .Values.console.enabled (include "davit.redis.gatewaySecretName" .) -}}
davit-{{ .Values.instance }}-redis-console
{{- end -}}
{{- end }}

{{- define "davit.routesNamespace" -}}
{{ .Release.Name }}-routes
{{- end }}

{{- define "davit.destinationsNamespace" -}}
{{ .Release.Name }}-destinations
{{- end }}

{{/* securityContext of a Pod and of a container that the restricted Pod Security Standard accepts. */}}
{{- define "davit.podSecurity" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "davit.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Where Pods may run: a dict of root, component and values. */}}
{{- define "davit.scheduling" -}}
{{- $default := dict
  "maxSkew" 1
  "topologyKey" "kubernetes.io/hostname"
  "whenUnsatisfiable" "ScheduleAnyway"
  "labelSelector" (dict "matchLabels" (include "davit.selector" . | fromYaml))
  "matchLabelKeys" (list "pod-template-hash")
}}
{{- $fields := pick .values "priorityClassName" "nodeSelector" "tolerations" "affinity" }}
{{- $_ := set $fields "topologySpreadConstraints" (.values.topologySpreadConstraints | default (list $default)) }}
{{- range $name, $value := $fields }}
{{- if not $value }}{{ $_ := unset $fields $name }}{{ end }}
{{- end }}
{{- toYaml $fields }}
{{- end }}

{{- define "davit.pullSecrets" -}}
{{- with .Values.image.pullSecrets -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Probes of the admin port. */}}
{{- define "davit.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: admin }
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /livez, port: admin }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: { path: /readyz, port: admin }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}

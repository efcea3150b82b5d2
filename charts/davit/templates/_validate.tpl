{{/* What the schema cannot say. Each message names the key and the remedy. */}}
{{- define "davit.validate" -}}
{{- if not (or .Values.redis.external.secretName .Values.redis.bundled.enabled) }}
{{- fail "there is no Redis: set redis.external.secretName to a Secret with its URL, or redis.bundled.enabled to true" }}
{{- end }}
{{- if and (eq .Values.rbac.scope "Namespaces") (not .Values.rbac.namespaces) }}
{{- fail "rbac.scope is Namespaces, but rbac.namespaces is empty: name the namespaces that may have routes" }}
{{- end }}
{{- if eq .Release.Namespace (include "davit.routesNamespace" .) }}
{{- fail (printf "the namespace %s holds the published routes and nothing else: install the release into another one" .Release.Namespace) }}
{{- end }}
{{- if eq .Release.Namespace (include "davit.destinationsNamespace" .) }}
{{- fail (printf "the namespace %s holds what is published of WebhookDestinations and nothing else: install the release into another one" .Release.Namespace) }}
{{- end }}
{{- range .Values.gateway.hosts }}
{{- if and (eq (.via | default "Ingress") "HTTPRoute") (not .parentRefs) }}
{{- fail (printf "gateway.hosts: %s is exposed by HTTPRoute and names no Gateway: set its parentRefs" .host) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "davit.redis.conf" -}}
port 6379
dir /data
# Each event is on disk before it is confirmed.
appendonly yes
appendfsync always
no-appendfsync-on-rewrite no
save ""
maxmemory {{ .Values.redis.bundled.maxmemory }}
maxmemory-policy noeviction
aclfile /etc/redis/acl/users.acl
# Users come from the ACL; who has no password may ask for a sign of life only.
protected-mode no
tcp-keepalive 60
{{- end }}

{{/* What every role may do with its keys: no administration, no look at others' keys. */}}
{{- define "davit.redis.commands" -}}
-@all +@read +@write +@blocking +@connection +@pubsub +eval +evalsha -@dangerous -function +info +time +cluster|slots +cluster|info -select -scan -randomkey -dbsize
{{- end }}

{{- define "davit.redis.rules.worker" -}}
resetkeys ~davit:{{ .Values.instance }}:* resetchannels &davit:{{ .Values.instance }}:* {{ include "davit.redis.commands" . }}
{{- end }}

{{- define "davit.redis.rules.gateway" -}}
{{ include "davit.redis.rules.worker" . }} +config|get +wait
{{- end }}

{{/* The controller also makes the users of workers, and looks for what deleted namespaces left. */}}
{{- define "davit.redis.rules.controller" -}}
{{ include "davit.redis.rules.gateway" . }} +scan +acl
{{- end }}

{{/*
Passwords of the bundled Redis as JSON: those of the Secret that is named or that the release made before, else new ones. Kept
in .Values for the rest of this rendering, so that all templates see the same.
*/}}
{{- define "davit.redis.passwords" -}}
{{- if not (hasKey .Values "generatedPasswords") }}
{{- $name := .Values.redis.bundled.passwordSecretName | default (include "davit.redis.secretName" .) }}
{{- $data := (lookup "v1" "Secret" .Release.Namespace $name | default dict).data | default dict }}
{{- $passwords := dict }}
{{- range $key := list "controllerPassword" "gatewayPassword" "workerPassword" }}
{{- $known := index $data $key | default "" | b64dec }}
{{- $_ := set $passwords $key ($known | default (randAlphaNum 40)) }}
{{- end }}
{{- $_ := set .Values "generatedPasswords" $passwords }}
{{- end }}
{{- .Values.generatedPasswords | toJson }}
{{- end }}

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

{{/*
Passwords of the bundled Redis as JSON: those that the release made before, else new ones. Kept in .Values for the rest of this
rendering, so that all templates see the same.
*/}}
{{- define "davit.redis.passwords" -}}
{{- if not (hasKey .Values "generatedPasswords") }}
{{- $secret := lookup "v1" "Secret" .Release.Namespace (include "davit.redis.secretName" .) | default dict }}
{{- $data := $secret.data | default dict }}
{{- $passwords := dict }}
{{- range $key := list "controllerPassword" "gatewayPassword" "consolePassword" "workerPassword" }}
{{- $known := index $data $key | default "" | b64dec }}
{{- $_ := set $passwords $key ($known | default (randAlphaNum 40)) }}
{{- end }}
{{- $_ := set .Values "generatedPasswords" $passwords }}
{{- end }}
{{- .Values.generatedPasswords | toJson }}
{{- end }}

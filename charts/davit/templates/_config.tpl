{{/* The part of the config file that every role has. Numbers are made whole: Helm reads them as floating point. */}}
{{- define "davit.config.common" -}}
release: {{ .Release.Name }}
instance: {{ .Values.instance }}
namespace: {{ .Release.Namespace }}
logLevel: {{ .Values.logLevel }}
redis:
  urlFile: /etc/davit/redis/url
  users: {{ include "davit.redis.users" . }}
  providedSecretName: {{ .Values.redis.providedSecretName }}
  {{- with include "davit.redis.gatewaySecretName" . }}
  gatewaySecretName: {{ . }}
  {{- end }}
  {{- with include "davit.redis.consoleSecretName" . }}
  consoleSecretName: {{ . }}
  {{- end }}
  durability: {{ .Values.redis.durability }}
  replicas: {{ .Values.redis.replicas | int64 }}
{{- end }}

{{- define "davit.config.controller" -}}
{{ include "davit.config.common" . }}
rbac:
  scope: {{ .Values.rbac.scope }}
  namespaces: {{ .Values.rbac.namespaces | toJson }}
controller:
  concurrency: {{ .Values.controller.concurrency | int64 }}
  claimHoldMs: {{ .Values.controller.claimHoldMs | int64 }}
  orphanRetentionMs: {{ .Values.controller.orphanRetentionMs | int64 }}
  {{- with .Values.controller.smtp }}
  {{- if .host }}
  smtp:
    host: {{ .host | quote }}
    port: {{ .port | int64 }}
    tls: {{ .tls }}
    from: {{ required "controller.smtp.from is empty: name the sender's address" .from | quote }}
    {{- if .secretName }}
    userFile: /etc/davit/smtp/user
    passwordFile: /etc/davit/smtp/password
    {{- end }}
    {{- if .caSecretName }}
    caFile: /etc/davit/smtp-ca/ca.crt
    {{- end }}
  {{- end }}
  {{- end }}
  service:
    name: {{ .Release.Name }}-controller
    port: {{ .Values.controller.service.port | int64 }}
gateway:
  service:
    name: {{ .Release.Name }}-gateway
    port: {{ .Values.gateway.service.port | int64 }}
  hosts: {{- toYaml .Values.gateway.hosts | nindent 4 }}
workers:
  image: {{ .Values.workers.image | default (include "davit.image" .) }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  imagePullSecrets: {{ .Values.image.pullSecrets | toJson }}
  defaults: {{- toYaml .Values.workers.defaults | nindent 4 }}
  namespaces: {{- toYaml .Values.workers.namespaces | nindent 4 }}
  egress:
    allow: {{ .Values.workers.egress.allow | toJson }}
cleaners:
  image: {{ .Values.cleaners.image | default (include "davit.image" .) }}
  resources: {{- toYaml .Values.cleaners.resources | nindent 4 }}
{{- end }}

{{- define "davit.config.gateway" -}}
{{ include "davit.config.common" . }}
gateway:
  cacheDir: /var/cache/davit
  {{- if .Values.gateway.api.enabled }}
  api:
    port: 8081
    audience: {{ .Values.gateway.api.audience | quote }}
  {{- end }}
  shutdownDelayMs: {{ .Values.gateway.shutdownDelayMs | int64 }}
  shutdownGraceMs: {{ .Values.gateway.shutdownGraceMs | int64 }}
  trustedProxies: {{ .Values.gateway.trustedProxies | toJson }}
  egress:
    allow: {{ .Values.gateway.egress.allow | toJson }}
{{- end }}

{{- define "davit.config.console" -}}
{{ include "davit.config.common" . }}
console:
  port: 8082
  {{- if .Values.console.destinations.enabled }}
  destinationPort: 8083
  {{- end }}
  audience: {{ .Values.console.audience | quote }}
  shutdownDelayMs: {{ .Values.console.shutdownDelayMs | int64 }}
  shutdownGraceMs: {{ .Values.console.shutdownGraceMs | int64 }}
{{- end }}

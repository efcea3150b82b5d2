{{/* Generated from src/custody/redis/user-rules.ts by `npm run generate`. */}}
{{/* looks after shelves and backlogs of every namespace; with `Provisioned` it also needs `+acl`, and is then an administrator */}}
{{- define "davit.redis.rules.controller" -}}
~davit:{{ .Values.instance }}:* resetchannels &davit:{{ .Values.instance }}:* -@all +@read +@write +@connection +eval +evalsha -@dangerous -function -select -scan -randomkey -dbsize +info +time +cluster|slots +cluster|info +@blocking +publish +subscribe +unsubscribe +multi +exec +config|get +wait +acl
{{- end }}
{{/* announces work, traces refusals in one step, reads the settings that make an acknowledgement durable, waits for replicas */}}
{{- define "davit.redis.rules.gateway" -}}
~davit:{{ .Values.instance }}:{*}:* resetchannels &davit:{{ .Values.instance }}:{*}:* -@all +@read +@write +@connection +eval +evalsha -@dangerous -function -select -scan -randomkey -dbsize +info +time +cluster|slots +cluster|info +publish +multi +exec +config|get +wait
{{- end }}
{{/* reads and changes what is in custody of every namespace for the callers of the operations API, and tells workers of it */}}
{{- define "davit.redis.rules.console" -}}
~davit:{{ .Values.instance }}:{*}:* resetchannels &davit:{{ .Values.instance }}:{*}:* -@all +@read +@write +@connection +eval +evalsha -@dangerous -function -select -scan -randomkey -dbsize +info +time +cluster|slots +cluster|info +publish +multi +exec +wait
{{- end }}
{{/* serves gateway, controller and workers alike */}}
{{- define "davit.redis.rules.worker" -}}
~davit:{{ .Values.instance }}:* resetchannels &davit:{{ .Values.instance }}:* -@all +@read +@write +@connection +eval +evalsha -@dangerous -function -select -scan -randomkey -dbsize +info +time +cluster|slots +cluster|info +@blocking +publish +subscribe +unsubscribe +multi +exec +config|get +wait
{{- end }}

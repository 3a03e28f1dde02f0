{{- define "fleet.name" -}}
{{- .Release.Name | trunc 30 | trimSuffix "-" -}}
{{- end -}}

{{- define "fleet.labels" -}}
app.kubernetes.io/name: tritune-fleet
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "fleet.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "fleet.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ include "fleet.name" . }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{/* What all pods have: nobody special, and no rights in the cluster. */}}
{{- define "fleet.pod" -}}
serviceAccountName: {{ include "fleet.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{- define "fleet.container" -}}
image: {{ include "fleet.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* How to reach Temporal, as arguments. */}}
{{- define "fleet.temporalArgs" -}}
- --temporal={{ .Values.temporal.address }}
- --temporal-namespace={{ .Values.temporal.namespace }}
{{- with .Values.temporal.tls }}
{{- if .enabled }}
- --temporal-tls
{{- if .secretName }}
- --temporal-tls-ca=/temporal-tls/ca.crt
{{- if .mutual }}
- --temporal-tls-cert=/temporal-tls/tls.crt
- --temporal-tls-key=/temporal-tls/tls.key
{{- end }}
{{- end }}
{{- if .serverName }}
- --temporal-tls-server-name={{ .serverName }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.temporal.apiKey }}
{{- if .secretName }}
- --temporal-api-key-file=/temporal-api-key/{{ .key }}
{{- end }}
{{- end }}
{{- with .Values.payloadKey }}
{{- if .secretName }}
- --payload-key-file=/payload-key/{{ .key }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "fleet.temporalMounts" -}}
{{- if and .Values.temporal.tls.enabled .Values.temporal.tls.secretName }}
- { name: temporal-tls, mountPath: /temporal-tls, readOnly: true }
{{- end }}
{{- if .Values.temporal.apiKey.secretName }}
- { name: temporal-api-key, mountPath: /temporal-api-key, readOnly: true }
{{- end }}
{{- if .Values.payloadKey.secretName }}
- { name: payload-key, mountPath: /payload-key, readOnly: true }
{{- end }}
{{- end -}}

{{- define "fleet.temporalVolumes" -}}
{{- if and .Values.temporal.tls.enabled .Values.temporal.tls.secretName }}
- name: temporal-tls
  secret: { secretName: {{ .Values.temporal.tls.secretName | quote }}, defaultMode: 0440 }
{{- end }}
{{- if .Values.temporal.apiKey.secretName }}
- name: temporal-api-key
  secret: { secretName: {{ .Values.temporal.apiKey.secretName | quote }}, defaultMode: 0440 }
{{- end }}
{{- if .Values.payloadKey.secretName }}
- name: payload-key
  secret: { secretName: {{ .Values.payloadKey.secretName | quote }}, defaultMode: 0440 }
{{- end }}
{{- end -}}

{{/* A rule that lets name look-ups out. */}}
{{- define "fleet.egressToNames" -}}
- ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
{{- end }}

{{/* A rule that lets connections to these ports out: to the peers in `to`, or anywhere if there are none. */}}
{{- define "fleet.egress" -}}
- ports:
    {{- range .ports }}
    - { port: {{ . }} }
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

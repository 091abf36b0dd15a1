{{ $d := dict "a" 1 }}{{ $_ := set $d "b" 2 }}{{ toJson $d }}
=====
{{ $d := dict }}{{ $e := $d }}{{ $_ := set $d "b" 2 }}{{ toJson $e }}
=====
{{ $d := dict "in" (dict) }}{{ $_ := set $d.in "b" 2 }}{{ toJson $d }}
=====
{{ $_ := set .Values.data "added" "yes" }}{{ .Values.data.added }} {{ $.Values.data.added }}
=====
{{ $_ := set .Values "added" "yes" }}{{ .Values.added }}
=====
{{ $_ := set . "added" "yes" }}{{ .added }} {{ $.added }}
=====
{{ $_ := unset .Values.data "name" }}[{{ .Values.data.name }}] {{ hasKey .Values.data "name" }}
=====
{{ range .Values.data.people }}{{ $_ := set . "seen" true }}{{ end }}{{ toJson .Values.data.people }}
=====
{{ $first := index .Values.data.people 0 }}{{ $_ := set $first "seen" true }}{{ toJson .Values.data.people }}
=====
{{ $d := deepCopy .Values.data.image }}{{ $_ := set $d "tag" "x" }}{{ .Values.data.image.tag }} {{ $d.tag }}
=====
{{ $d := .Values.data.image }}{{ $_ := set $d "tag" "x" }}{{ .Values.data.image.tag }} {{ $d.tag }}
=====
{{ $m := merge (dict "a" 1) (dict "a" 2 "b" 3) }}{{ toJson $m }}
=====
{{ $a := dict "a" 1 }}{{ $m := merge $a (dict "a" 2 "b" 3) }}{{ toJson $a }}{{ $_ := set $m "c" 4 }}{{ toJson $a }}
=====
{{ $a := dict "x" (dict "a" 1) }}{{ $_ := merge $a (dict "x" (dict "b" 2)) }}{{ toJson $a }}
=====
{{ $a := dict "x" (dict "a" 1) }}{{ $_ := mergeOverwrite $a (dict "x" (dict "a" 2)) (dict "y" 1) }}{{ toJson $a }}
=====
{{ $_ := mergeOverwrite .Values.data.image (dict "tag" "2") }}{{ .Values.data.image.tag }}
=====
{{ $a := dict }}{{ $_ := merge $a .Values.data.resources }}{{ $_ := set $a.limits "cpu" "1" }}{{ .Values.data.resources.limits.cpu }}
=====
{{ merge (dict "a" "" "b" 0 "c" false "d" nil) (dict "a" 1 "b" 2 "c" 3 "d" 4) | toJson }}
=====
{{ mergeOverwrite (dict "a" 1 "b" 2) (dict "a" "" "b" nil) | toJson }}
=====
{{ merge (dict "a" (list 1)) (dict "a" (list 2)) | toJson }} {{ mergeOverwrite (dict "a" (list 1)) (dict "a" (list 2)) | toJson }}
=====
{{ get (dict "a" 1) "a" }}[{{ get (dict "a" 1) "b" }}] {{ hasKey (dict "a" nil) "a" }}
=====
{{ keys (dict "a" 1) | toJson }} {{ values (dict "a" 1) | toJson }} {{ keys (dict "b" 1 "a" 2) | sortAlpha }}
=====
{{ pick (dict "a" 1 "b" 2) "a" "c" | toJson }} {{ omit (dict "a" 1 "b" 2) "a" | toJson }}
=====
{{ pluck "a" (dict "a" 1) (dict "b" 2) (dict "a" 3) | toJson }} {{ dig "a" "b" "d" (dict "a" (dict "b" 5)) }} {{ dig "a" "x" "d" (dict "a" (dict "b" 5)) }}
=====
{{ dict "a" | toJson }} {{ dict 1 2 | toJson }} {{ dict "a" 1 "a" 2 | toJson }}
=====
{{ $ctx := dict "root" . "name" "x" }}{{ $ctx.root.Values.data.name }}{{ $ctx.name }}{{ with $ctx }}{{ .root.Release.Name }}{{ end }}
=====
{{ define "t" }}{{ (index . 0).Release.Name }}-{{ index . 1 }}{{ end }}{{ include "t" (list . "x") }}
=====
{{ define "t" }}{{ $root := first . }}{{ $root.Values.data.name }}{{ last . }}{{ end }}{{ include "t" (list $ "x") }}
=====
{{ define "t" }}{{ $_ := set . "out" "changed" }}{{ end }}{{ $d := dict }}{{ include "t" $d }}{{ $d.out }}
=====
{{ define "t" }}{{ $_ := set .Values.data "computed" "c" }}{{ end }}{{ include "t" . }}{{ .Values.data.computed }}
=====
{{ $l := list 1 2 }}{{ $m := append $l 3 }}{{ toJson $l }}{{ toJson $m }} {{ prepend $l 0 | toJson }} {{ concat $l $m | toJson }}
=====
{{ first (list 1 2) }}{{ last (list 1 2) }}{{ rest (list 1 2) | toJson }}{{ initial (list 1 2) | toJson }}{{ first (list) }}
=====
{{ $d := dict }}{{ range $i, $x := list "a" "b" }}{{ $_ := set $d $x $i }}{{ end }}{{ toYaml $d }}
=====
{{ $d := dict "l" (list) }}{{ range list 1 2 }}{{ $_ := set $d "l" (append $d.l .) }}{{ end }}{{ toJson $d }}
=====
{{ $d := dict }}{{ $_ := set $d "self" $d }}{{ hasKey $d "self" }}{{ hasKey $d.self.self.self "self" }}
=====
{{ set (dict) 1 2 }}
=====
{{ set nil "a" 1 }}
=====
{{ set "x" "a" 1 }}
=====
{{ set .Release "Extra" "x" | len }}{{ .Release.Extra }}
=====
{{ has 1 (list 1 2) }}{{ has "a" (list 1 2) }}{{ without (list 1 2 3) 2 | toJson }}{{ uniq (list 1 1 2) | toJson }}{{ compact (list 1 0 "" nil 2) | toJson }}
=====
{{ slice (list 1 2 3) 1 | toJson }}{{ slice (list 1 2 3) 0 2 | toJson }}{{ reverse (list 1 2) | toJson }}{{ until 3 | toJson }}{{ seq 1 3 }}
=====
{{ coalesce nil "" (dict) "x" }}{{ empty .Values.data.emptyMap }}{{ empty .Values }}{{ empty . }}
=====
{{ if .Values }}values{{ end }}{{ if .Files }}files{{ else }}none{{ end }}{{ if .Chart }}chart{{ end }}{{ if .Release }}release{{ end }}
=====
{{ with .Values.data.resources }}{{ toYaml . | nindent 2 }}{{ end }}
=====
{{- with .Values.data.labels }}
labels:
  {{- toYaml . | nindent 2 }}
{{- end }}
=====
{{- range $key, $value := .Values.data.labels }}
{{ $key }}: {{ $value | quote }}
{{- end }}
=====
{{- if and .Values.data.enabled (eq .Values.data.name "web") -}}
ok
{{- end -}}
=====
a: {{ .Values.data.name | upper | quote }}
b: {{- .Values.data.port }}
{{- if .Values.data.disabled }}
c: no
{{- end }}
d: {{ printf "%s-%v" .Release.Name .Values.data.replicas }}
=====
{{ splitList "," "a,b" }} {{ split "," "a,b" }} {{ (split "," "a,b")._1 }} {{ join "-" (list 1 "b" 2.5) }} {{ join "," "x" }}
=====
{{ regexReplaceAll "a(b)" "abab" "${1}" }} {{ regexMatch "^a" "abc" }} {{ regexFind "b+" "abbb" }}
=====
{{ "a-b" | replace "-" "_" | title }} {{ trunc 3 "abcdef" }} {{ trunc -2 "abcdef" }} {{ substr 1 3 "abcdef" }} {{ contains "b" "abc" }} {{ hasPrefix "a" "abc" }}
=====
{{ semverCompare ">=1.2-0" "1.3.0" }} {{ (semver "1.2.3").Major }} {{ b64enc "a" }} {{ b64dec "YQ==" }} {{ sha256sum "a" }}
=====
{{ ternary "a" "b" (eq 1 1) }} {{ ternary "a" "b" (and true nil) }}
=====
{{ tuple 1 2 | toJson }} {{ list "a" | has "a" }} {{ dict "a" 1 | hasKey "a" }}
=====
{{ nindent 2 "a\nb" }}|{{ indent 2 "a\n\nb" }}
=====
{{ cat "a" 1 nil "b" }} {{ repeat 3 "ab" }} {{ nospace "a b" }} {{ wrap 3 "ab cd" }} {{ abbrev 5 "abcdefgh" }}
=====
{{ range $i, $e := .Values.data.nested }}{{ $i }}:{{ range $e }}{{ . }},{{ end }};{{ end }}
=====
{{ range $i, $_ := until 3 }}{{ if $i }},{{ end }}{{ $i }}{{ end }}
=====
{{ $last := sub (len .Values.data.letters) 1 }}{{ range $i, $l := .Values.data.letters }}{{ $l }}{{ if ne $i (int $last) }},{{ end }}{{ end }}

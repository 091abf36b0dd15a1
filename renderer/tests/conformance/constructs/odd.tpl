{{ define "a" }}{{ define "b" }}x{{ end }}{{ end }}
=====
{{ if true }}{{ define "b" }}x{{ end }}{{ end }}
=====
{{ block "b" . }}in block{{ end }}{{ template "b" . }}
=====
{{ define "b" }}redefined{{ end }}{{ block "b" . }}in block{{ end }}
=====
{{ define "a" }}1{{ end }}{{ define "a" }}2{{ end }}{{ template "a" }}
=====
{{ define "a" }}1{{ end }}{{ define "a" }} {{/* nothing */}} {{ end }}{{ template "a" }}
=====
{{ define "a" }}{{ end }}{{ define "a" }}2{{ end }}{{ template "a" }}
=====
{{ range $i, $x := list "a" "b" }}{{ $.Release.Name }}{{ $i }}{{ $x }}{{ end }}
=====
{{ with .Values.data }}{{ $.Values.data.name }}{{ .name }}{{ end }}
=====
{{ define "t" }}{{ $ }}{{ end }}{{ range list 1 2 }}{{ template "t" . }}{{ end }}
=====
a {{- /* comment */ -}} b
=====
a {{/* comment */}} b
=====
a {{ /* comment */ }} b
=====
a {{- /* comment */}} b
=====
a {{/* comment */ -}} b
=====
a {{/* comment -}} b
=====
a {{/* one
two */}} b
=====
{{- /* c */ -}}   {{- /* d */ -}}   x
=====
a  {{- " b " -}}  c
=====
a  {{-  " b "  -}}  c
=====
{{-3}}
=====
{{- 3}}
=====
{{ 3 -}}   x
=====
{{3-}}
=====
{{ with "" }}x{{ else }}empty{{ end }}
=====
{{ with "" }}x{{ else with "y" }}{{ . }}{{ else }}z{{ end }}
=====
{{ with "" }}x{{ else with "" }}{{ . }}{{ else }}z{{ end }}
=====
{{ with "" }}x{{ else if true }}y{{ end }}
=====
{{ if false }}x{{ else with true }}y{{ end }}
=====
{{ with $x := "v" }}{{ $x }}{{ . }}{{ end }}
=====
{{ with $x := "" }}a{{ else }}[{{ $x }}]{{ end }}
=====
{{ if $x := "v" }}{{ $x }}{{ end }}
=====
{{ if $x := "" }}a{{ else if $y := "b" }}{{ $x }}{{ $y }}{{ end }}
=====
{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}
=====
{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $x }}{{ end }}{{ $x }}
=====
{{ $x := 1 }}{{ range list 5 6 }}{{ $x = . }}{{ end }}{{ $x }}
=====
{{ $x := 1 }}{{ range $x := list 5 6 }}{{ $x }}{{ end }}{{ $x }}
=====
{{ $x := 1 }}{{ range $x = list 5 6 }}{{ $x }}{{ end }}{{ $x }}
=====
{{ $x }}
=====
{{ if true }}{{ $y := 1 }}{{ end }}{{ $y }}
=====
{{ $x := 1 }}{{ define "t" }}{{ $x }}{{ end }}{{ template "t" }}
=====
{{ $x := 1 }}{{ $x := 2 }}{{ $x }}
=====
{{ $x = 1 }}
=====
{{ $x := $x }}
=====
{{ .Values.missing }}
=====
{{ .Values.missing.deeper }}
=====
{{ (.Values.missing).deeper }}
=====
{{ ((.Values.missing).deeper).still }}
=====
{{ $x := .Values.missing }}{{ $x.deeper }}
=====
{{ $x := .Values.missing }}{{ $x.deeper.still }}
=====
{{ with .Values.missing }}x{{ end }}
=====
{{ if .Values.missing }}x{{ else }}y{{ end }}
=====
{{ if .Values.missing.deeper }}x{{ else }}y{{ end }}
=====
{{ if and .Values.missing .Values.missing.deeper }}x{{ else }}y{{ end }}
=====
{{ if or .Values.data.name .Values.missing.deeper }}x{{ end }}
=====
{{ .Values.data.name.deeper }}
=====
{{ .Values.data.one.deeper }}
=====
{{ .Values.data.letters.deeper }}
=====
{{ nil }}
=====
{{ nil | default "x" }}
=====
{{ default "x" nil }}
=====
{{ .Values.data.nothing }}
=====
{{ .Values.data.nothing.deeper }}
=====
{{ range .Values.missing }}x{{ else }}none{{ end }}
=====
{{ range nil }}x{{ else }}none{{ end }}
=====
{{ range 3 }}{{ . }}{{ end }}
=====
{{ range $i := 3 }}{{ $i }}{{ end }}
=====
{{ range 0 }}x{{ else }}none{{ end }}
=====
{{ range -1 }}x{{ else }}none{{ end }}
=====
{{ range .Values.data.replicas }}{{ . }}{{ end }}
=====
{{ range "abc" }}{{ . }}{{ end }}
=====
{{ range true }}{{ . }}{{ end }}
=====
{{ range $k, $v := .Values.data.labels }}{{ $k }}={{ $v }} {{ end }}
=====
{{ range $v := .Values.data.labels }}{{ $v }} {{ end }}
=====
{{ range .Values.data.labels }}{{ . }} {{ end }}
=====
{{ range $k, $v := dict "b" 1 "a" 2 "C" 3 "10" 4 "9" 5 }}{{ $k }}{{ $v }} {{ end }}
=====
{{ range $a, $b, $c := list 1 }}x{{ end }}
=====
{{ range list 1 2 3 4 }}{{ if eq . 3 }}{{ break }}{{ end }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}
=====
{{ range list 1 2 }}{{ range list 5 6 }}{{ if eq . 6 }}{{ break }}{{ end }}{{ . }}{{ end }}|{{ end }}
=====
{{ break }}
=====
{{ if true }}{{ continue }}{{ end }}
=====
{{ range list 1 }}{{ define "x" }}{{ break }}{{ end }}{{ end }}
=====
{{ range list }}x{{ else }}{{ break }}{{ end }}
=====
{{ range list 1 2 }}{{ else }}none{{ end }}done
=====
{{ end }}
=====
{{ else }}
=====
{{ if true }}
=====
{{ if true }}a{{ else }}b{{ else }}c{{ end }}
=====
{{ if }}x{{ end }}
=====
{{ with }}x{{ end }}
=====
{{ range }}x{{ end }}
=====
{{ }}
=====
{{
=====
}}
=====
{{ "a
b" }}
=====
{{ "unclosed }}
=====
{{ `raw
text` }}
=====
{{ `raw \n text` }}
=====
{{ 'a' }}{{ '\n' }}{{ '\'' }}{{ '世' }}
=====
{{ '' }}
=====
{{ 'ab' }}
=====
{{ "\x41\u00e9\t\"" }}
=====
{{ "\q" }}
=====
{{ 1 }} {{ 0x1F }} {{ 0b11 }} {{ 0o17 }} {{ 017 }} {{ 1_000 }} {{ 0x_ff }}
=====
{{ 1.5 }} {{ 1e3 }} {{ 1.5e-7 }} {{ .5 }} {{ 5. }} {{ 0x1p4 }}
=====
{{ 1e6 }} {{ 1e20 }} {{ 1e21 }} {{ 123456789.0 }} {{ 0.00001 }}
=====
{{ 1i }}
=====
{{ 9223372036854775807 }}
=====
{{ 9223372036854775808 }}
=====
{{ -9223372036854775808 }}
=====
{{ 08 }}
=====
{{ 1__0 }}
=====
{{ 1x }}
=====
{{ +5 }} {{ -5 }} {{ - 5 }}
=====
{{ true }}{{ false }}
=====
{{ true.x }}
=====
{{ "a".x }}
=====
{{ 1 2 }}
=====
{{ "a" "b" }}
=====
{{ . "b" }}
=====
{{ .Values "b" }}
=====
{{ .Values.data.name "b" }}
=====
{{ $x := 1 }}{{ $x 2 }}
=====
{{ (1) 2 }}
=====
{{ 1 | 2 }}
=====
{{ "a" | "b" }}
=====
{{ "a" | . }}
=====
{{ "a" | nil }}
=====
{{ "a" | .Values.data.name }}
=====
{{ "a" | }}
=====
{{ | quote }}
=====
{{ "a" || quote }}
=====
{{ "a" | quote | upper }}
=====
{{"a"|quote}}
=====
{{quote"a"}}
=====
{{quote("a")}}
=====
{{ quote ("a") }}
=====
{{ (quote "a") }}
=====
{{ (quote "a" | upper) }}
=====
{{ ((("x"))) }}
=====
{{ (("x") }}
=====
{{ ("x")) }}
=====
{{ () }}
=====
{{ unknownFunction }}
=====
{{ if false }}{{ unknownFunction }}{{ end }}
=====
{{ if false }}{{ fail "no" }}{{ end }}ok
=====
{{ fail "no" }}
=====
{{ .Values.data.image.repository }}:{{ .Values.data.image.tag }}
=====
{{ .Values.data.image .repository }}
=====
{{ . Values }}
=====
{{ .Values.data-image }}
=====
{{ .Values.data. }}
=====
{{ .. }}
=====
{{ $.Release.Name }}
=====
{{ $.Values.data.name | quote }}
=====
{{ template "missing" }}
=====
{{ include "missing" . }}
=====
{{ define "t" }}{{ . }}{{ end }}{{ template "t" }}|{{ template "t" nil }}|{{ template "t" "x" }}
=====
{{ define "t" }}{{ .x }}{{ end }}{{ template "t" }}
=====
{{ define "t" }}{{ .x.y }}{{ end }}{{ template "t" }}
=====
{{ define "t" }}{{ .x.y }}{{ end }}{{ template "t" (dict) }}
=====
{{ define "t" }}a{{ end }}{{ template "t" . | quote }}
=====
{{ define "t" }}a{{ end }}{{ include "t" . | quote }}
=====
{{ define "t" }}{{ end }}[{{ include "t" . }}]
=====
{{ define "t" }}  x  {{ end }}[{{ include "t" . | trim }}]
=====
{{ define "t" -}}  x  {{- end }}[{{ include "t" . }}]
=====
{{ define "t" }}{{ if lt (int .) 3 }}{{ . }}{{ template "t" (add . 1) }}{{ end }}{{ end }}{{ template "t" 0 }}
=====
{{ define `t` }}raw name{{ end }}{{ template `t` }}
=====
{{ define t }}x{{ end }}
=====
{{ define "t" . }}x{{ end }}
=====
{{ template "t" 1 2 }}{{ define "t" }}x{{ end }}
=====
{{ $x, $y := list 1 2 }}
=====
{{ $x := }}
=====
{{ $x := 1 2 }}
=====
{{ $_ := set (dict) "a" 1 }}ok
=====
{{ not true }}{{ not "" }}{{ not nil }}{{ not 0 }}{{ not (list) }}
=====
{{ and }}
=====
{{ or }}
=====
{{ and 1 }}{{ or 0 }}
=====
{{ and 0 (fail "no") }}{{ or 1 (fail "no") }}
=====
{{ 1 | and 2 }}{{ 0 | or "" }}
=====
{{ true | ternary "a" "b" }}
=====
{{ len "héé" }}{{ len (list 1 2) }}{{ len (dict "a" 1) }}
=====
{{ len 5 }}
=====
{{ len nil }}
=====
{{ len .Values.missing }}
=====
{{ index (list 1 2 3) 1 }}{{ index (dict "a" "x") "a" }}{{ index "abc" 1 }}
=====
{{ index (list 1 2 3) 5 }}
=====
{{ index (list 1 2 3) -1 }}
=====
{{ index (list 1 2 3) "a" }}
=====
{{ index (list 1 2 3) 1.0 }}
=====
{{ index (dict "a" 1) "b" }}
=====
{{ index (dict "a" 1) "b" "c" }}
=====
{{ index (dict "a" (dict "b" 1)) "a" "b" }}
=====
{{ index (dict "a" 1) 1 }}
=====
{{ index .Values "data" "image" "tag" }}
=====
{{ index .Values.data.people 1 "tags" 0 }}
=====
{{ index .Values.missing "a" }}
=====
{{ index nil "a" }}
=====
{{ index "a" "b" }}
=====
{{ (index .Values.data.people 0).name }}
=====
{{ (first .Values.data.people).name }}
=====
{{ (list 1 2).x }}
=====
{{ (dict "a" (dict "b" 5)).a.b }}
=====
{{ dict.x }}
=====
{{ call 1 }}
=====
{{ html "<a>" }}{{ js "'" }}{{ urlquery "a b" }}
=====
{{ eq 1 1 }}{{ eq "a" "b" "a" }}{{ eq 1.0 1.0 }}{{ eq nil nil }}{{ eq true false }}
=====
{{ eq 1 "1" }}
=====
{{ eq (list) (list) }}
=====
{{ eq (dict) nil }}
=====
{{ eq .Values.missing nil }}{{ eq .Values.missing "x" }}
=====
{{ ne .Values.data.name "web" }}
=====
{{ lt 1 2 }}{{ le 2 2 }}{{ gt "b" "a" }}{{ ge 1.5 1.5 }}
=====
{{ lt nil 1 }}
=====
{{ lt "a" 1 }}
=====
{{ gt .Values.data.replicas 2.0 }}
=====
{{ gt .Values.data.replicas 2 }}
=====
{{ gt (int .Values.data.replicas) 2 }}
=====
{{ eq (len .Values.data.letters) 3 }}
=====
{{ if eq .Values.data.name "web" "api" }}one of{{ end }}

{{ $c := dict "a" (dict "b" (dict "c" 1)) }}{{ $d := dig "a" "b" dict $c }}{{ $_ := set $d "x" 2 }}{{ toJson $c }}
=====
{{ dig "a" "b" "fallback" (dict "a" (dict "c" 1)) }}
=====
{{ dig "a" "b" "fallback" (dict "a" 1) }}
=====
{{ dig "a" "fallback" (dict "a" nil) }}
=====
{{ dig "a" nil (dict) }}
=====
{{ $v := .Values.AsMap }}{{ $v.data.name }}
=====
{{ (.Values.Table "data.image").tag }} {{ .Values.PathValue "data.name" }}
=====
{{ .Values.Table "data.nowhere" }}
=====
{{ .Values.PathValue "data.image" }}
=====
{{ .Values.YAML | lines }}
=====
{{ if .Values.data.enabled }}{{ $x := 1 }}{{ $x }}{{ else }}{{ $x }}{{ end }}
=====
{{ if .Values.data.disabled }}{{ $x := 1 }}{{ $x }}{{ else }}{{ $x }}{{ end }}
=====
{{ $x := 0 }}{{ if .Values.data.disabled }}{{ $x := 1 }}{{ $x }}{{ else }}{{ $x }}{{ end }}
=====
{{ if .Values.data.disabled }}{{ $x := 1 }}{{ else if .Values.data.enabled }}y{{ else }}{{ $x }}{{ end }}
=====
{{ range .Values.data.emptyList }}{{ $x := . }}{{ else }}none{{ if false }}{{ $x }}{{ end }}{{ end }}
=====
{{ with .Values.data.nothing }}{{ $x := . }}{{ else }}e{{ end }}
=====
{{ if true }}{{ $x := 1 }}{{ end }}{{ $x }}
=====
{{ $l := list (dict "a" 1) (dict "b" 2) }}{{ $r := reverse $l }}{{ $_ := set (first $r) "x" 1 }}{{ toJson $l }}
=====
{{ $l := list (dict "a" 1) (dict "b" 2) }}{{ $r := slice $l 1 }}{{ $_ := set (first $r) "x" 1 }}{{ toJson $l }}
=====
{{ $l := list (dict "a" 1) (dict "b" 2) }}{{ $r := uniq $l }}{{ $_ := set (first $r) "x" 1 }}{{ toJson $l }}
=====
{{ $l := list (dict "a" 1) (dict "b" 2) }}{{ $r := compact $l }}{{ $_ := set (first $r) "x" 1 }}{{ toJson $l }}
=====
{{ $l := list (dict "a" 1) (dict "b" 2) }}{{ $r := without $l 3 }}{{ $_ := set (first $r) "x" 1 }}{{ toJson $l }}
=====
{{ $l := list (dict "a" 1) (dict "b" 2) }}{{ range chunk 1 $l }}{{ range . }}{{ $_ := set . "x" 1 }}{{ end }}{{ end }}{{ toJson $l }}
=====
{{ $l := list (dict "a" (dict "n" 1)) (dict "b" 2) }}{{ range pluck "a" (index $l 0) (index $l 1) }}{{ $_ := set . "x" 1 }}{{ end }}{{ toJson $l }}
=====
{{ $d := dict "a" (dict "n" 1) }}{{ range values $d }}{{ $_ := set . "x" 1 }}{{ end }}{{ toJson $d }}
=====
{{ $d := dict "a" (dict "n" 1) }}{{ range $k, $v := pick $d "a" }}{{ $_ := set $v "x" 1 }}{{ end }}{{ toJson $d }}
=====
{{ $d := dict "a" (dict "n" 1) }}{{ range $k, $v := omit $d "b" }}{{ $_ := set $v "x" 1 }}{{ end }}{{ toJson $d }}
=====
{{ $d := dict "a" (dict "n" 1) }}{{ $e := ternary $d (dict) true }}{{ $_ := set $e "x" 1 }}{{ toJson $d }}
=====
{{ $d := dict "a" (dict "n" 1) }}{{ $e := default (dict) $d.a }}{{ $_ := set $e "x" 1 }}{{ toJson $d }}
=====
{{ $d := dict "a" (dict "n" 1) }}{{ $e := coalesce nil $d.a }}{{ $_ := set $e "x" 1 }}{{ toJson $d }}
=====
{{ $d := dict "a" (dict "n" 1) }}{{ $e := required "needed" $d.a }}{{ $_ := set $e "x" 1 }}{{ toJson $d }}
=====
{{ $l := list 1 2 }}{{ $m := append $l 3 }}{{ $n := append $l 4 }}{{ toJson (list $l $m $n) }}
=====
{{ $l := concat (list 1) (list (dict "a" 1)) }}{{ toJson $l }}
=====
{{ toJson (fromYaml "a: !!string 5\nb: !!str 5\nc: !x {d: 1}\n") }}
=====
{{ toJson (fromYaml "a: &x {k: 1}\nb:\n  !!merge <<: *x\n  l: 2\n") }}
=====
{{ toJson (fromYaml "a: 0755\nb: 0o17\nc: 1_000\nd: yes\ne: 0x1F\nf: 1e3\ng: .5\nh: 12:30\ni: 2020-01-02\nj: ~\nk: 'yes'\nl: 0b11\n") }}
=====
{{ toJson (fromYaml "a: 123456789012345678901234567890\nb: 9007199254740993\nc: 1.0\nd: -0\ne: +5\nf: 0.1e-2\n") }}
=====
{{ range $i, $c := "abc" }}{{ $i }}{{ $c }}{{ end }}
=====
{{ range 3 }}{{ . }}{{ end }}
=====
{{ range $i := 3 }}{{ $i }}{{ end }}
=====
{{ printf "%v %s %d %q" .Values.data.big .Values.data.name 3 "x" }}
=====
{{ printf "%d" .Values.data.big }}
=====
{{ printf "%s" .Values.data.letters }} {{ printf "%v" .Values.data.image }}
=====
{{ .Values.data.huge }} {{ .Values.data.big }} {{ .Values.data.half }} {{ int .Values.data.huge }}
=====
{{ tpl "{{ define \"t\" }}in {{ . }}{{ end }}{{ template \"t\" 5 }}" . }}
=====
{{ $x := tpl "{{ $y := 1 }}{{ $y }}" . }}{{ $x }}
=====
{{ define "rec" }}{{ if gt . 0 }}{{ . }}{{ template "rec" (sub . 1 | int) }}{{ end }}{{ end }}{{ template "rec" 3 }}
=====
{{ with $x := .Values.data.name }}{{ $x }}{{ . }}{{ end }}
=====
{{ if and .Values.data.image .Values.data.image.tag }}t{{ end }}{{ if or .Values.data.nothing .Values.data.nope }}n{{ end }}
=====
{{ not .Values.data.nope }} {{ empty .Values.data.nope }} {{ .Values.data.nope | default "d" }}
=====
{{ eq .Values.data.replicas 3 }}
=====
{{ eq (int .Values.data.replicas) 3 }} {{ gt (int .Values.data.replicas) 2 }}
=====
{{ eq .Values.data.name "web" "x" }} {{ ne .Values.data.name "x" }}
=====
{{ eq .Values.data.nothing nil }}
=====
{{ kindOf .Values.data.nothing }} {{ typeOf .Values.data.replicas }} {{ kindOf .Values.data.image }} {{ typeOf .Values }}
=====
{{ toYaml .Values.data.mixed }}
=====
{{ .Values.data.mixed }} {{ .Values.data.nested }} {{ .Values.data.people }}
=====
{{ .Values.data.labels | toYaml | nindent 2 }}
=====
{{ lookup "v1" "Secret" "ns" "name" }}|{{ (lookup "v1" "Secret" "ns" "name").data }}|{{ if lookup "v1" "Secret" "" "" }}y{{ else }}n{{ end }}
=====
{{ $s := lookup "v1" "Secret" "ns" "name" }}{{ if $s }}{{ index $s.data "a" }}{{ else }}none{{ end }} {{ len $s }} {{ ($s.data).x }}
=====
{{ get (lookup "v1" "Secret" "ns" "name") "data" }}|{{ dig "data" "x" "d" (lookup "v1" "Secret" "ns" "n") }}
=====
{{ range $k, $v := (lookup "v1" "Secret" "ns" "").items }}x{{ else }}empty{{ end }}
=====
{{ .Release.Name }} {{ .Release.IsInstall }} {{ .Release.IsUpgrade }} {{ .Release.Revision }} {{ .Release.Service }}
=====
{{ .Template.Name }} {{ .Template.BasePath }}
=====
{{ kindOf .Capabilities.APIVersions }}
=====
{{ .Chart.Nope }}
=====
{{ .Release.Nope }}
=====
{{ .Nope }}
=====
{{ .Values.nope.deeper }}
=====
{{ .Values.data.name.deeper }}
=====
{{ (.Values.nope).deeper }} {{ ((.Values.nope).deeper).still }}
=====
{{ index .Values "nope" "deeper" }}
=====
{{ index .Values.data "people" 1 "name" }}
=====
{{ hasKey .Values "data" }} {{ hasKey .Values.data "nothing" }} {{ get .Values.data "nothing" }}
=====
{{ join "," .Values.data.mixed }} {{ join "-" "x" }} {{ join "," .Values.data.nothing }}
=====
{{ .Values.data.letters | join "," | quote }} {{ quote .Values.data.nothing }} {{ quote 1 true nil "a" }} {{ squote "it's" }}
=====
{{ trunc 5 "abcdefgh" }} {{ trunc -5 "abcdefgh" }} {{ trimSuffix "-" "a-" }} {{ "a.b" | replace "." "-" }}
=====
{{ semverCompare "^1.2" "1.3.0-beta" }} {{ semverCompare ">=1.20-0" "v1.30.1-gke.5" }}
=====
{{ $v := semver "1.2.3-a+b" }}{{ $v.Major }} {{ $v.Minor }} {{ $v.Patch }} {{ $v.Prerelease }} {{ $v.Metadata }} {{ $v.Original }}
=====
{{ (semver "1.2.3").Compare (semver "1.2.4") }}
=====
{{ regexReplaceAll "(a)(b)" "ab-ab" "${2}${1}" }} {{ regexMatch "^a" "ab" }} {{ regexFind "b+" "abbb" }}
=====
{{ "2006-01-02" | toDate "2006-01-02" | date "02.01.2006" }}
=====
{{ urlParse "http://u:p@h:1/p?q=1#f" | toJson }}
=====
{{ fromJsonArray "[1]" | toJson }}
=====
{{ fail "no way" }}
=====
{{ required "need it" .Values.data.nope }}
=====
{{ required "need it" .Values.data.disabled }} {{ required "need it" .Values.data.zero }}
=====
{{ include "nope" . }}
=====
{{ "abc" | indent 2 }}{{ "a\nb" | nindent 2 }}
=====
{{- /* a comment */ -}}x{{/* b */}} y {{- /* c */}}
=====
{{ `raw "string"` }} {{ 'a' }} {{ 0x1F }} {{ 1e3 }} {{ 0b11 }} {{ 1_000 }} {{ "\u00e9\t\x41" }}
=====
{{ (list 1 2 3) | rest | first }} {{ last (list 1 2) }} {{ initial (list 1 2) }} {{ has 2 (list 1 2) }}
=====
{{ until 3 }} {{ untilStep 0 6 2 }} {{ seq 1 3 }} {{ seq 3 -1 1 }}
=====
{{ div 7 2 }} {{ mod 7 2 }} {{ divf 7 2 }} {{ round 2.567 2 }} {{ floor 2.9 }} {{ ceil 2.1 }} {{ max 1 2 3 }} {{ min 1 2 }} {{ add 1 2.9 }} {{ mul 2 3 4 }} {{ addf 1.5 2 }}
=====
{{ toString 1.0 }} {{ toString 1e21 }} {{ 1.0 }} {{ float64 "1.50" }} {{ int "010" }} {{ int64 "0x10" }} {{ atoi "5" }} {{ toDecimal "777" }}
=====
{{ toString nil }}|{{ toString true }}|{{ toString (list 1 "a") }}|{{ toStrings (list 1 "a") }}
=====
{{ if false }}{{ $x = 1 }}{{ end }}a variable that is set and never declared
=====
{{ if true }}{{ $x = 1 }}{{ end }}a variable that is set and never declared
=====
{{ $x = 1 }}
=====
{{ $x = 1 }}{{ $x }}
=====
{{ if false }}{{ $x = 1 }}{{ $x }}{{ end }}nobody asks
=====
{{ if false }}{{ $x = 1 }}{{ end }}{{ $x }}
=====
{{ if false }}{{ $x = 1 }}{{ else }}{{ $x }}{{ end }}
=====
{{ if false }}{{ $x = 1 }}{{ else }}{{ $x := 2 }}{{ $x }}{{ end }}
=====
{{ if false }}{{ $x := 1 }}{{ else }}{{ $x = 2 }}{{ end }}the other branch declares it
=====
{{ range list }}{{ $x = 1 }}{{ else }}{{ $x = 2 }}{{ end }}
=====
{{ range list }}{{ $x = 1 }}{{ end }}no turn
=====
{{ with $x = 1 }}a{{ end }}
=====
{{ if $x = 1 }}a{{ end }}
=====
{{ if false }}{{ if $x = 1 }}a{{ end }}{{ end }}nobody asks
=====
{{ range $x = list }}a{{ else }}b{{ end }}
=====
{{ range $x = list 1 }}a{{ else }}b{{ end }}
=====
{{ range $i, $x = list 1 }}a{{ end }}
=====
{{ if false }}{{ range $i, $x = list 1 }}{{ $x }}{{ end }}{{ end }}nobody asks
=====
{{ if false }}{{ ($x = 1) }}{{ end }}nobody asks
=====
{{ if false }}{{ $x = 1 }}{{ end }}{{ $x := 3 }}{{ if true }}{{ $x = 4 }}{{ end }}{{ $x }}
=====
{{ range $k, $v := fromYaml "n: 1\ny: 2\non: 3\nOff: 4\nyes: 5" }}{{ $k }}={{ $v }} {{ end }}
=====
{{ range $k, $v := fromYaml "1.0: 1\n0x10: 2\n1e3: 3\n0644: 4\n-0.0: 5\n1.5: 6\n1e21: 7\n0.1: 8\n+2: 9" }}{{ $k }}={{ $v }} {{ end }}
=====
{{ range $k, $v := fromYaml "true: a\n123456789: c\n16777217.0: d\n2001-01-01: e\n12:30: f" }}{{ $k }}={{ $v }} {{ end }}
=====
{{ ($x = 1) }}
=====
{{ if true }}{{ $x := 1 }}{{ ($x = 2) }}{{ $x }}{{ end }}
=====
{{ fromYaml "a: |\n  x" | toJson }} {{ fromYaml "a: |\n  x\n" | toJson }} {{ fromYaml "a: >\n  x\n  y" | toJson }}
=====
{{ fromYaml "a: |+\n  x" | toJson }} {{ fromYaml "a: |\n  x\n  " | toJson }} {{ fromYaml "a: |\n  x\n# end" | toJson }}
=====
{{ fromYamlArray "- |\n  y" | toJson }} {{ fromYaml "a: |\n  x\n\n  y" | toJson }}
=====
{{ $now := now }}{{ if ne $now ($now | dateModify "5m") }}moved{{ end }}
=====
{{ $now := now }}{{ if ne $now ($now | dateModify "0s") }}moved{{ else }}not{{ end }}
=====
{{ $now := now }}{{ eq $now $now }} {{ ne $now (date_modify "-1h" $now) }} {{ eq (dateModify "1m" $now) (dateModify "60s" $now) }}
